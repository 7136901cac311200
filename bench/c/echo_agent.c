/* The agent both servers drive: JSON-RPC lines on stdin and stdout, as cheap as an agent can be.
 *
 *   echo   answers with the bytes of its params
 *   flood  {"bytes":B,"count":N}: N notifications of B bytes numbered by "seq", then the answer
 *   stamp  {"count":N,"pause_us":P}: N notifications with the CLOCK_MONOTONIC time of their writing
 *
 * Requests come from load programs of this directory with "params" as their last key, and a server that
 * sorts keys keeps it last; so the params are everything from that key to the closing brace. Between a key and
 * its value there is no space. */
#include "flood_line.h"

static char *out;
/* No more than a processor keeps at hand. */
static size_t out_used, out_room = 128 << 10;

static void write_all(const char *from, size_t length) {
    while (length) {
        ssize_t wrote = write(1, from, length);
        if (wrote < 0 && errno == EINTR) continue;
        if (wrote <= 0) exit(0);
        from += wrote;
        length -= (size_t)wrote;
    }
}

static void flush_out(void) {
    write_all(out, out_used);
    out_used = 0;
}

static void put(const char *from, size_t length) {
    if (out_used + length > out_room) flush_out();
    if (length > out_room) {
        write_all(from, length);
        return;
    }
    memcpy(out + out_used, from, length);
    out_used += length;
}

static long number_in(const char *params, size_t length, const char *key, long fallback) {
    const char *at = memmem(params, length, key, strlen(key));
    return at ? strtol(at + strlen(key), NULL, 10) : fallback;
}

static void flood(size_t bytes, long count) {
    struct flood_line line;
    flood_line_begin(&line, bytes);
    for (; line.number < count; flood_line_next(&line)) put(line.text, line.length);
    free(line.text);
}

static void stamp(long count, long pause_us) {
    char line[160];
    struct timespec pause = {pause_us / 1000000, pause_us % 1000000 * 1000};
    for (long n = 0; n < count; n++) {
        nanosleep(&pause, NULL);
        int length = snprintf(line, sizeof line, STAMP_HEAD "%llu," SEQUENCE_KEY "%ld}}\n",
                              (unsigned long long)now_ns(), n);
        write_all(line, (size_t)length);
    }
}

static void handle(const char *line, size_t length) {
    static const char params_key[] = "\"params\":";
    size_t peek = length < 512 ? length : 512;
    const char *params = memmem(line, peek, params_key, sizeof params_key - 1);
    const char *id = memmem(line, peek, "\"id\":", 5), *method = memmem(line, peek, "\"method\":\"", 10);
    if (!params || !id || !method || id > params || method > params) return;
    params += sizeof params_key - 1;
    size_t params_length = (size_t)(line + length - params) - 1;
    id += 5;
    method += 10;
    size_t id_length = strcspn(id, ",}");
    if (!strncmp(method, "flood\"", 6))
        flood((size_t)number_in(params, params_length, "\"bytes\":", 200),
              number_in(params, params_length, "\"count\":", 1));
    else if (!strncmp(method, "stamp\"", 6))
        stamp(number_in(params, params_length, "\"count\":", 1),
              number_in(params, params_length, "\"pause_us\":", 1000));
    put("{\"jsonrpc\":\"2.0\",\"id\":", 22);
    put(id, id_length);
    put(",\"result\":", 10);
    put(params, params_length);
    put("}\n", 2);
}

int main(int argc, char **argv) {
    size_t room = 1 << 20, used = 0, seen = 0;
    char *in = grow(NULL, room + 1);
    out = grow(NULL, out_room);
    pin_to_cpu((int)number_option(argc, argv, "--cpu", -1));
    for (;;) {
        ssize_t got = read(0, in + used, room - used);
        if (got < 0 && errno == EINTR) continue;
        if (got <= 0) return 0;
        used += (size_t)got;
        char *line = in, *end;
        while ((end = memchr(in + seen, '\n', used - seen))) {
            *end = '\0';
            handle(line, (size_t)(end - line));
            line = end + 1;
            seen = (size_t)(line - in);
        }
        flush_out();
        used -= (size_t)(line - in);
        memmove(in, line, used);
        seen = used;
        if (used == room) in = grow(in, (room *= 2) + 1);
    }
}
