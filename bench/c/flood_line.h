/* The numbered lines of a flood, one after the other: the agent writes them, the readers compare with them.
 *
 * Both sides count by raising the digits in place, so that neither spends more on making a line than a
 * server does on handing it on. */
#ifndef BENCH_FLOOD_LINE_H
#define BENCH_FLOOD_LINE_H

#include "common.h"

struct flood_line {
    char *text; /* the whole line, its newline included */
    size_t length, data_at, data_length, number_at;
    long number;
};

static inline void flood_line_go_to(struct flood_line *line, long number) {
    char digits[32];
    snprintf(digits, sizeof digits, "%010ld", number);
    memcpy(line->text + line->data_at, digits, SEQUENCE_DIGITS);
    line->length =
        line->number_at + (size_t)sprintf(line->text + line->number_at, "%ld}}\n", number);
    line->number = number;
}

static inline void flood_line_begin(struct flood_line *line, size_t bytes) {
    size_t tail = strlen("\"," SEQUENCE_KEY);
    line->data_at = strlen(NOTIFICATION_HEAD);
    line->data_length = flood_data_length(bytes);
    line->number_at = line->data_at + line->data_length + tail;
    line->text = grow(NULL, line->number_at + 32);
    memcpy(line->text, NOTIFICATION_HEAD, line->data_at);
    fill_pattern(line->text + line->data_at, line->data_length);
    memcpy(line->text + line->number_at - tail, "\"," SEQUENCE_KEY, tail);
    flood_line_go_to(line, 0);
}

static inline void flood_line_next(struct flood_line *line) {
    char *last = line->text + line->length - 4, *padded = line->text + line->data_at + SEQUENCE_DIGITS - 1;
    if (*last != '9') {
        ++*last;
        ++*padded;
        ++line->number;
        return;
    }
    char *first = line->text + line->number_at;
    for (; last >= first && *last == '9'; last--, padded--) *last = *padded = '0';
    if (last < first) { /* one digit more than before */
        flood_line_go_to(line, line->number + 1);
        return;
    }
    ++*last;
    ++*padded;
    ++line->number;
}

#endif
