/* Turning a resource location into a path (RFC 8089), see uri.h. */
#include "uri.h"

#include <string.h>

static int hex_digit(char c) {
    if (c >= '0' && c <= '9') return c - '0';
    if (c >= 'a' && c <= 'f') return c - 'a' + 10;
    if (c >= 'A' && c <= 'F') return c - 'A' + 10;
    return -1;
}

static int copy(const char *text, int encoded, char *path, size_t size) {
    size_t length = 0;
    while (*text && length + 1 < size) {
        int high = encoded && *text == '%' ? hex_digit(text[1]) : -1;
        int low = high >= 0 ? hex_digit(text[2]) : -1;
        if (low >= 0) {
            path[length++] = (char)(16 * high + low);
            text += 3;
        } else {
            path[length++] = *text++;
        }
    }
    while (length > 1 && (path[length - 1] == '/' || path[length - 1] == '\\')) length--;
    path[length] = 0;
    return *text == 0 && length > 0 && strlen(path) == length;
}

/* Names of hosts do not tell case apart. */
static int is_localhost(const char *text) {
    static const char name[] = "localhost";
    for (size_t i = 0; i < sizeof name - 1; i++)
        if ((text[i] | 0x20) != name[i]) return 0;
    return 1;
}

/* Skips an authority, which must be empty or this machine: file:///path, file://localhost/path. */
static const char *skip_authority(const char *text) {
    const char *path = strchr(text, '/');
    size_t length = path ? (size_t)(path - text) : strlen(text);
    int local = length == 0 || (length == 9 && is_localhost(text));
    return path && local ? path : NULL;
}

int path_from_uri(const char *uri, int encoded, char *path, size_t size) {
    /* In a plain path nothing is encoded. */
    if (strncmp(uri, "file:", 5) != 0) return copy(uri, 0, path, size);
    const char *text = uri + 5;
    if (!strncmp(text, "//", 2) && !(text = skip_authority(text + 2))) return 0;
#ifdef _WIN32
    if (text[0] == '/' && text[1] && text[2] == ':') text++; /* /C:/folder */
#endif
    return copy(text, encoded, path, size);
}
