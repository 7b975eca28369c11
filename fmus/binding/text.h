/* Texts from a host: whether they are in UTF-8, and how to show those that are not. */
#ifndef SENSOR_FMUS_TEXT_H
#define SENSOR_FMUS_TEXT_H

#include <stddef.h>

/* Whether a text is in UTF-8 as RFC 3629 has it, which is what Python takes. */
int is_utf8(const char *text);

/* Writes a text in printable ASCII, with \xNN for all other bytes; what does not fit is left out.
   Returns `shown`. */
const char *show_bytes(const char *text, char *shown, size_t size);

#endif
