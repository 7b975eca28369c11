/* Texts from a host, see text.h. */
#include "text.h"

#include <stdio.h>

/* How many bytes follow the first one of a character; -1 if none can begin so. */
static int following(unsigned char first) {
    if (first < 0x80) return 0;
    if (first >= 0xC2 && first < 0xE0) return 1;
    if (first >= 0xE0 && first < 0xF0) return 2;
    return first >= 0xF0 && first < 0xF5 ? 3 : -1;
}

/* The second byte tells surrogates, what is written too long, and what is beyond Unicode. */
static int is_second(unsigned char first, unsigned char second) {
    unsigned char lowest = first == 0xE0 ? 0xA0 : first == 0xF0 ? 0x90 : 0x80;
    unsigned char highest = first == 0xED ? 0x9F : first == 0xF4 ? 0x8F : 0xBF;
    return second >= lowest && second <= highest;
}

int is_utf8(const char *text) {
    const unsigned char *next = (const unsigned char *)text;
    while (*next) {
        unsigned char first = *next++;
        int count = following(first);
        if (count < 0 || (count > 0 && !is_second(first, *next))) return 0;
        for (int i = 0; i < count; i++, next++)
            if ((*next & 0xC0) != 0x80) return 0;
    }
    return 1;
}

const char *show_bytes(const char *text, char *shown, size_t size) {
    size_t used = 0;
    for (; *text && used + 5 <= size; text++) {
        unsigned char byte = (unsigned char)*text;
        int plain = byte >= 0x20 && byte < 0x7F && byte != '\\';
        used += (size_t)snprintf(shown + used, size - used, plain ? "%c" : "\\x%02x", byte);
    }
    shown[used] = 0;
    return shown;
}
