// The search of the site. All text is in this file, because a page that is opened as a file may
// neither load others nor start workers, as mkdocs' own search does.
"use strict";
const SECTIONS = []; // location, title, text: written here when the site is built
const MOST = 40; // results that are shown
const AROUND = 90; // characters before and after what was found

const found = (query) => {
  const words = query.toLowerCase().split(/\s+/).filter((word) => word);
  const scored = [];
  for (const section of words.length ? SECTIONS : []) {
    const title = section.title.toLowerCase(), text = section.text.toLowerCase();
    let score = 0;
    for (const word of words) {
      const own = (title.includes(word) ? 20 : 0) + Math.min(text.split(word).length - 1, 10);
      if (!own) { score = 0; break; }
      score += own;
    }
    if (score) scored.push({ score, section, at: Math.max(0, text.indexOf(words[0])) });
  }
  return scored.sort((a, b) => b.score - a.score).slice(0, MOST);
};

const shown = ({ section, at }) => {
  const article = document.createElement("article");
  const link = article.appendChild(document.createElement("h3")).appendChild(document.createElement("a"));
  link.href = `${base_url}/${section.location}`; // which the page defines
  link.textContent = section.title;
  const text = section.text.slice(Math.max(0, at - AROUND), at + AROUND);
  article.appendChild(document.createElement("p")).textContent = text;
  return article;
};

document.addEventListener("DOMContentLoaded", () => {
  const input = document.getElementById("mkdocs-search-query");
  const results = document.getElementById("mkdocs-search-results");
  const search = () => {
    const articles = found(input.value).map(shown);
    results.replaceChildren(...articles);
    if (!articles.length && input.value.trim()) results.textContent = "nothing found";
  };
  input.addEventListener("input", search);
  input.form?.addEventListener("submit", (event) => event.preventDefault());
  const asked = new URLSearchParams(location.search).get("q");
  if (asked) {
    input.value = asked;
    search();
  }
});
