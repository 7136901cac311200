/* An ACP agent for the client benchmarks, with as little memory as a process can have: hundreds of them run.
 *
 * `initialize` and `session/new` are answered. The text of a `session/prompt` says what happens:
 *
 *   flood N   N agent_message_chunk updates of about 170 bytes, then the answer
 *   wait      no answer until `session/cancel`
 *
 * Requests come from SDKs, which write keys in different orders; the agent looks for the keys it needs. The
 * text of a prompt comes first in a line that may repeat other keys in `_meta`. */
#include "common.h"

static char out[64 << 10], waiting[256];
static size_t out_used;

static void flush_out(void) {
    for (size_t at = 0; at < out_used;) {
        ssize_t wrote = write(1, out + at, out_used - at);
        if (wrote < 0 && errno == EINTR) continue;
        if (wrote <= 0) exit(0);
        at += (size_t)wrote;
    }
    out_used = 0;
}

static void put(const char *text, size_t length) {
    if (out_used + length > sizeof out) flush_out();
    memcpy(out + out_used, text, length);
    out_used += length;
}

static void say(const char *text) { put(text, strlen(text)); }

/* The value of a key at the top of the message, as it is written: a number or a string without escapes. */
static void value_of(const char *line, const char *key, char *to, size_t room) {
    const char *at = strstr(line, key);
    *to = '\0';
    if (!at) return;
    at += strlen(key);
    size_t length = *at == '"' ? strcspn(at + 1, "\"") + 2 : strcspn(at, ",}");
    if (length >= room) length = room - 1;
    memcpy(to, at, length);
    to[length] = '\0';
}

static void answer(const char *id, const char *result) {
    say("{\"jsonrpc\":\"2.0\",\"id\":");
    say(id);
    say(",\"result\":");
    say(result);
    say("}\n");
}

static void flood(const char *session, long count) {
    char line[512];
    for (long n = 0; n < count; n++) {
        int length = snprintf(line, sizeof line,
                              "{\"jsonrpc\":\"2.0\",\"method\":\"session/update\",\"params\":{\"sessionId\":%s,"
                              "\"update\":{\"sessionUpdate\":\"agent_message_chunk\",\"content\":"
                              "{\"type\":\"text\",\"text\":\"chunk %06ld \"}}}}\n",
                              session, n);
        put(line, (size_t)length);
    }
}

static void handle(const char *line) {
    char id[256], session[256];
    value_of(line, "\"id\":", id, sizeof id);
    if (strstr(line, "\"method\":\"initialize\""))
        answer(id, "{\"protocolVersion\":1,\"agentCapabilities\":{\"loadSession\":false}}");
    else if (strstr(line, "\"method\":\"session/new\"")) {
        snprintf(session, sizeof session, "{\"sessionId\":\"s-%d-%llu\"}", (int)getpid(),
                 (unsigned long long)now_ns());
        answer(id, session);
    } else if (strstr(line, "\"method\":\"session/cancel\"")) {
        if (*waiting) answer(waiting, "{\"stopReason\":\"cancelled\"}");
        *waiting = '\0';
    } else if (strstr(line, "\"method\":\"session/prompt\"")) {
        const char *order = strstr(line, "\"text\":\"");
        order = order ? order + 8 : "";
        if (!strncmp(order, "wait", 4)) {
            memcpy(waiting, id, sizeof waiting);
            return;
        }
        value_of(line, "\"sessionId\":", session, sizeof session);
        if (!strncmp(order, "flood ", 6)) flood(session, strtol(order + 6, NULL, 10));
        answer(id, "{\"stopReason\":\"end_turn\"}");
    } else if (*id)
        answer(id, "{}");
}

int main(int argc, char **argv) {
    static char in[64 << 10];
    size_t used = 0;
    pin_to_cpu((int)number_option(argc, argv, "--cpu", -1));
    for (;;) {
        if (used == sizeof in) return 1; /* no request of a benchmark is this long */
        ssize_t got = read(0, in + used, sizeof in - used);
        if (got < 0 && errno == EINTR) continue;
        if (got <= 0) return 0;
        used += (size_t)got;
        char *line = in, *end;
        while ((end = memchr(line, '\n', used - (size_t)(line - in)))) {
            *end = '\0';
            handle(line);
            line = end + 1;
        }
        flush_out();
        used -= (size_t)(line - in);
        memmove(in, line, used);
    }
}
