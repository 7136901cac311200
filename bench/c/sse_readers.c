/* Reads one instance's event stream over several connections and accounts for every event.
 *
 *   sse_readers --port P --token T --server-id ID --mode flood|stamp|replay --readers R --count N
 *               [--bytes B] [--pause-us U] [--quiet-ms Q]
 *
 * flood and stamp first open all streams, then ask the agent for N notifications; replay asks for nothing
 * and reads N flood events already published. Ends when every reader has all N, or when the agent has
 * answered and nothing has arrived for Q ms. Prints one JSON object: delivered, missing, repeated and altered
 * events over all readers, the time to the last one, and for stamps the time from pipe to reader. */
#include "common.h"

#include <sys/epoll.h>

struct reader {
    int fd, head_done, ended;
    char *raw; /* undecoded HTTP bytes */
    size_t raw_used, raw_room;
    size_t chunk_left;
    int in_chunk;
    char *text; /* decoded stream, from the last unfinished line on */
    size_t text_used, text_room, text_seen;
    long next;
};

static enum { FLOOD, STAMP, REPLAY } mode;
static long wanted, pause_us, bytes_each;
static char *expected;
static size_t expected_length, head_length;
static uint64_t delivered, missing, repeated, altered, gaps, wire_bytes, last_at, *latencies, latency_count;
static uint64_t received_at;

static void event(struct reader *r, const char *line, size_t length) {
    const char *head = mode == STAMP ? STAMP_HEAD : NOTIFICATION_HEAD;
    size_t head_size = strlen(head);
    if (length < head_size || memcmp(line, head, head_size)) return;
    size_t from = length > 24 ? length - 24 : 0;
    const char *key = memmem(line + from, length - from, SEQUENCE_KEY, strlen(SEQUENCE_KEY));
    if (!key) {
        altered++;
        return;
    }
    long n = strtol(key + strlen(SEQUENCE_KEY), NULL, 10);
    delivered++;
    last_at = received_at;
    if (n < r->next) {
        repeated++;
        return;
    }
    missing += (uint64_t)(n - r->next);
    r->next = n + 1;
    if (mode == STAMP) {
        latencies[latency_count++] = received_at - strtoull(line + head_size, NULL, 10);
        return;
    }
    char digits[32];
    snprintf(digits, sizeof digits, "%010ld", n);
    if ((size_t)(key - line) != head_length + expected_length + 2 ||
        memcmp(line + head_length, digits, SEQUENCE_DIGITS) ||
        memcmp(line + head_length + SEQUENCE_DIGITS, expected + SEQUENCE_DIGITS,
               expected_length - SEQUENCE_DIGITS))
        altered++;
}

static void take_lines(struct reader *r) {
    char *line = r->text, *end;
    while ((end = memchr(r->text + r->text_seen, '\n', r->text_used - r->text_seen))) {
        size_t length = (size_t)(end - line);
        *end = '\0';
        if (length > 6 && !memcmp(line, "data: ", 6)) event(r, line + 6, length - 6);
        else if (length == 10 && !memcmp(line, "event: gap", 10)) gaps++;
        line = end + 1;
        r->text_seen = (size_t)(line - r->text);
    }
    r->text_used -= (size_t)(line - r->text);
    memmove(r->text, line, r->text_used);
    r->text_seen = r->text_used;
}

static void decode(struct reader *r) {
    size_t at = 0;
    if (!r->head_done) {
        char *end = memmem(r->raw, r->raw_used, "\r\n\r\n", 4);
        if (!end) return;
        if (strncmp(r->raw, "HTTP/1.1 200", 12)) {
            fprintf(stderr, "the stream was refused: %.60s\n", r->raw);
            exit(1);
        }
        r->head_done = 1;
        at = (size_t)(end - r->raw) + 4;
    }
    while (at < r->raw_used) {
        if (!r->in_chunk) {
            char *end = memmem(r->raw + at, r->raw_used - at, "\r\n", 2);
            if (!end) break;
            if (end == r->raw + at) { /* line end after a chunk */
                at += 2;
                continue;
            }
            r->chunk_left = strtoul(r->raw + at, NULL, 16);
            at = (size_t)(end - r->raw) + 2;
            if (!r->chunk_left) {
                r->ended = 1;
                break;
            }
            r->in_chunk = 1;
        }
        size_t take = r->raw_used - at < r->chunk_left ? r->raw_used - at : r->chunk_left;
        if (r->text_used + take + 1 > r->text_room)
            r->text = grow(r->text, r->text_room = (r->text_used + take) * 2 + 1);
        memcpy(r->text + r->text_used, r->raw + at, take);
        r->text_used += take;
        at += take;
        r->chunk_left -= take;
        r->in_chunk = r->chunk_left > 0;
    }
    r->raw_used -= at;
    memmove(r->raw, r->raw + at, r->raw_used);
    take_lines(r);
}

static void pull(struct reader *r) {
    if (r->raw_room - r->raw_used < 4096) r->raw = grow(r->raw, r->raw_room *= 2);
    ssize_t got = read(r->fd, r->raw + r->raw_used, r->raw_room - r->raw_used);
    if (got < 0 && errno == EAGAIN) return;
    received_at = now_ns();
    if (got <= 0) {
        r->ended = 1;
        return;
    }
    wire_bytes += (uint64_t)got;
    r->raw_used += (size_t)got;
    decode(r);
}

static void send_request(int fd, const char *text) {
    if (write(fd, text, strlen(text)) != (ssize_t)strlen(text)) die("request");
}

static int by_value(const void *a, const void *b) {
    uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;
    return x < y ? -1 : x > y;
}

int main(int argc, char **argv) {
    int port = (int)number_option(argc, argv, "--port", 0);
    int readers = (int)number_option(argc, argv, "--readers", 1), poller = epoll_create1(EPOLL_CLOEXEC);
    long quiet_ms = number_option(argc, argv, "--quiet-ms", 700);
    const char *token = option(argc, argv, "--token", ""), *server_id = option(argc, argv, "--server-id", "b");
    const char *name = option(argc, argv, "--mode", "flood");
    char text[1024], body[256];
    mode = !strcmp(name, "stamp") ? STAMP : !strcmp(name, "replay") ? REPLAY : FLOOD;
    wanted = number_option(argc, argv, "--count", 1000);
    bytes_each = number_option(argc, argv, "--bytes", 200);
    pause_us = number_option(argc, argv, "--pause-us", 1000);
    head_length = strlen(NOTIFICATION_HEAD);
    expected_length = flood_data_length((size_t)bytes_each);
    expected = grow(NULL, expected_length);
    fill_pattern(expected, expected_length);
    latencies = grow(NULL, (size_t)(wanted * readers + 1) * sizeof *latencies);

    struct reader *all = calloc((size_t)readers, sizeof *all);
    uint64_t start = now_ns();
    snprintf(text, sizeof text,
             "GET /v1/acp/%s HTTP/1.1\r\nHost: 127.0.0.1:%d\r\nAuthorization: Bearer %s\r\n"
             "Accept: text/event-stream\r\n\r\n",
             server_id, port, token);
    for (int i = 0; i < readers; i++) {
        all[i].raw = grow(NULL, all[i].raw_room = 256 << 10);
        all[i].text = grow(NULL, all[i].text_room = 256 << 10);
        all[i].fd = connect_loopback(port);
        struct epoll_event e = {.events = EPOLLIN, .data.ptr = &all[i]};
        epoll_ctl(poller, EPOLL_CTL_ADD, all[i].fd, &e);
        send_request(all[i].fd, text);
    }
    struct epoll_event events[64];
    int asked = mode == REPLAY, answered = mode == REPLAY, asker = -1;
    uint64_t heard = now_ns(), give_up = heard + 240000000000ull;
    for (;;) {
        int ready = epoll_wait(poller, events, 64, 50), opened = 1, complete = 1;
        uint64_t now = now_ns();
        for (int i = 0; i < ready; i++) {
            struct reader *r = events[i].data.ptr;
            heard = now;
            if (r) {
                pull(r);
                if (r->ended) epoll_ctl(poller, EPOLL_CTL_DEL, r->fd, NULL);
                continue;
            }
            ssize_t got = read(asker, text, sizeof text - 1);
            if (got <= 0) {
                fprintf(stderr, "the asking connection was closed\n");
                return 1;
            }
            answered = 1;
        }
        for (int i = 0; i < readers; i++) {
            opened &= all[i].head_done;
            complete &= all[i].next >= wanted || all[i].ended;
        }
        if (opened && !asked) {
            int length = mode == STAMP
                             ? sprintf(body, "{\"jsonrpc\":\"2.0\",\"id\":%d,\"method\":\"stamp\",\"params\":{\"count\":%ld,"
                                             "\"pause_us\":%ld}}", getpid(), wanted, pause_us)
                             : sprintf(body, "{\"jsonrpc\":\"2.0\",\"id\":%d,\"method\":\"flood\",\"params\":{\"bytes\":%ld,"
                                             "\"count\":%ld}}", getpid(), bytes_each, wanted);
            snprintf(text, sizeof text,
                     "POST /v1/acp/%s HTTP/1.1\r\nHost: 127.0.0.1:%d\r\nAuthorization: Bearer %s\r\n"
                     "Content-Type: application/json\r\nContent-Length: %d\r\n\r\n%s",
                     server_id, port, token, length, body);
            asker = connect_loopback(port);
            struct epoll_event e = {.events = EPOLLIN, .data.ptr = NULL};
            epoll_ctl(poller, EPOLL_CTL_ADD, asker, &e);
            start = heard = now_ns();
            send_request(asker, text);
            asked = 1;
        }
        if (asked && complete) break;
        if (answered && now > heard && now - heard > (uint64_t)quiet_ms * 1000000ull) break;
        if (now > give_up) break;
    }
    for (int i = 0; i < readers; i++)
        if (all[i].next < wanted) missing += (uint64_t)(wanted - all[i].next);
    double seconds = last_at > start ? (double)(last_at - start) / 1e9 : 0;
    qsort(latencies, latency_count, sizeof *latencies, by_value);
    printf("{\"readers\":%d,\"expected\":%llu,\"delivered\":%llu,\"missing\":%llu,\"repeated\":%llu,"
           "\"altered\":%llu,\"gaps\":%llu,\"seconds\":%.6f,\"events_per_second\":%.1f,\"wire_bytes\":%llu,"
           "\"p50_us\":%.2f,\"p99_us\":%.2f}\n",
           readers, (unsigned long long)wanted * (unsigned long long)readers, (unsigned long long)delivered,
           (unsigned long long)missing, (unsigned long long)repeated, (unsigned long long)altered,
           (unsigned long long)gaps, seconds, seconds > 0 ? (double)delivered / seconds : 0,
           (unsigned long long)wire_bytes,
           latency_count ? (double)latencies[latency_count / 2] / 1000.0 : 0,
           latency_count ? (double)latencies[(uint64_t)((double)(latency_count - 1) * 0.99)] / 1000.0 : 0);
    return 0;
}
