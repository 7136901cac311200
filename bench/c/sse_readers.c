/* Reads one instance's event stream over several connections and accounts for every event.
 *
 *   sse_readers --port P --token T --server-id ID --mode flood|stamp|replay --readers R --count N
 *               [--bytes B] [--pause-us U] [--quiet-ms Q] [--again-ms A]
 *
 * flood and stamp first open all streams, then ask the agent for N notifications; replay asks for nothing
 * and reads N flood events already published, over and over on new connections until A ms have passed. Ends
 * when every reader has all N, or when the agent has answered and nothing has arrived for Q ms. Prints one JSON
 * object: delivered, missing, repeated and altered events over all readers, the time to the last one, and for
 * stamps the time from pipe to reader. */
#include "flood_line.h"

#include <sys/epoll.h>

#define RECEIVE_BYTES (256 << 10)

struct reader {
    int fd, ended;
    enum { HEAD, CHUNK_SIZE, CHUNK, CHUNK_END } in;
    size_t chunk_left;
    char *partial; /* the head of the answer or the line that has not arrived in full */
    size_t partial_used, partial_room;
    struct flood_line next; /* what has to come next */
};

static enum { FLOOD, STAMP, REPLAY } mode;
static int poller;
static char stream_request[1024];
static long wanted, pause_us, bytes_each;
static uint64_t delivered, missing, repeated, altered, gaps, wire_bytes, last_at, *latencies, latency_count;
static uint64_t received_at;

/* An event that is not exactly the one that had to come next: which one is it, and is it intact? */
static void other_event(struct reader *r, const char *line, size_t length) {
    const char *head = mode == STAMP ? STAMP_HEAD : NOTIFICATION_HEAD;
    size_t head_size = strlen(head);
    if (length < head_size || memcmp(line, head, head_size)) return;
    size_t from = length > 24 ? length - 24 : 0;
    const char *key = memmem(line + from, length - from, SEQUENCE_KEY, strlen(SEQUENCE_KEY));
    if (!key) {
        altered++;
        return;
    }
    char digits[32] = "";
    size_t at = (size_t)(key - line) + strlen(SEQUENCE_KEY), left = length - at;
    memcpy(digits, line + at, left < sizeof digits ? left : sizeof digits - 1);
    long n = strtol(digits, NULL, 10);
    delivered++;
    last_at = received_at;
    if (n < r->next.number) {
        repeated++;
        return;
    }
    missing += (uint64_t)(n - r->next.number);
    flood_line_go_to(&r->next, n);
    if (mode == STAMP) latencies[latency_count++] = received_at - strtoull(line + head_size, NULL, 10);
    else if (length + 1 != r->next.length || memcmp(line, r->next.text, length)) altered++;
    flood_line_next(&r->next);
}

static void other_line(struct reader *r, const char *line, size_t length) {
    if (length > 6 && !memcmp(line, "data: ", 6)) other_event(r, line + 6, length - 6);
    else if (length == 10 && !memcmp(line, "event: gap", 10)) gaps++;
}

static void keep(struct reader *r, const char *from, size_t length) {
    if (r->partial_used + length > r->partial_room)
        r->partial = grow(r->partial, r->partial_room = (r->partial_used + length) * 2);
    memcpy(r->partial + r->partial_used, from, length);
    r->partial_used += length;
}

/* The lines of a piece of the stream. Where the event that has to come next stands here in full, comparing
 * it is all there is to do; every other line is looked at more closely. */
static void take_text(struct reader *r, const char *at, const char *end) {
    while (at < end) {
        if (!r->partial_used && (size_t)(end - at) >= 6 + r->next.length && !memcmp(at, "data: ", 6) &&
            !memcmp(at + 6, r->next.text, r->next.length)) {
            at += 6 + r->next.length;
            delivered++;
            last_at = received_at;
            flood_line_next(&r->next);
            continue;
        }
        const char *newline = memchr(at, '\n', (size_t)(end - at));
        if (!newline) {
            keep(r, at, (size_t)(end - at));
            return;
        }
        if (r->partial_used) {
            keep(r, at, (size_t)(newline - at));
            other_line(r, r->partial, r->partial_used);
            r->partial_used = 0;
        } else other_line(r, at, (size_t)(newline - at));
        at = newline + 1;
    }
}

/* Where the stream begins in what has arrived: after the head of the answer. */
static const char *take_head(struct reader *r, const char *at, const char *end) {
    size_t before = r->partial_used;
    keep(r, at, (size_t)(end - at));
    char *empty_line = memmem(r->partial, r->partial_used, "\r\n\r\n", 4);
    if (!empty_line) return end;
    if (memcmp(r->partial, "HTTP/1.1 200", 12)) {
        fprintf(stderr, "the stream was refused: %.*s\n", (int)(empty_line - r->partial), r->partial);
        exit(1);
    }
    r->in = CHUNK_SIZE;
    r->partial_used = r->chunk_left = 0;
    return at + ((size_t)(empty_line + 4 - r->partial) - before);
}

static void decode(struct reader *r, const char *at, const char *end) {
    if (r->in == HEAD) at = take_head(r, at, end);
    while (at < end && !r->ended) {
        if (r->in == CHUNK) {
            size_t here = (size_t)(end - at) < r->chunk_left ? (size_t)(end - at) : r->chunk_left;
            take_text(r, at, at + here);
            at += here;
            if (!(r->chunk_left -= here)) r->in = CHUNK_END;
            continue;
        }
        char c = *at++;
        if (r->in == CHUNK_END) {
            if (c == '\n') r->in = CHUNK_SIZE;
        } else if (c == '\n') {
            if (r->chunk_left) r->in = CHUNK;
            else r->ended = 1;
        } else if (c != '\r') {
            r->chunk_left = r->chunk_left * 16 + (size_t)(c <= '9' ? c - '0' : (c | 32) - 'a' + 10);
        }
    }
}

static void pull(struct reader *r) {
    static char received[RECEIVE_BYTES]; /* one for all, so that it stays in the processor's cache */
    ssize_t got = read(r->fd, received, sizeof received);
    if (got < 0 && errno == EAGAIN) return;
    received_at = now_ns();
    if (got <= 0) {
        r->ended = 1;
        return;
    }
    wire_bytes += (uint64_t)got;
    decode(r, received, received + got);
}

static void send_request(int fd, const char *text) {
    if (write(fd, text, strlen(text)) != (ssize_t)strlen(text)) die("request");
}

static void open_stream(struct reader *r, int port) {
    struct epoll_event e = {.events = EPOLLIN, .data.ptr = r};
    r->fd = connect_loopback(port);
    r->in = HEAD;
    r->ended = 0;
    r->partial_used = 0;
    epoll_ctl(poller, EPOLL_CTL_ADD, r->fd, &e);
    send_request(r->fd, stream_request);
}

/* What a stream that is over, or given up, did not bring. */
static void count_missing(const struct reader *r) {
    if (r->next.number < wanted) missing += (uint64_t)(wanted - r->next.number);
}

static int by_value(const void *a, const void *b) {
    uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;
    return x < y ? -1 : x > y;
}

int main(int argc, char **argv) {
    int port = (int)number_option(argc, argv, "--port", 0);
    int readers = (int)number_option(argc, argv, "--readers", 1);
    long quiet_ms = number_option(argc, argv, "--quiet-ms", 700);
    long again_ms = number_option(argc, argv, "--again-ms", 0), times = 1;
    const char *token = option(argc, argv, "--token", ""), *server_id = option(argc, argv, "--server-id", "b");
    const char *name = option(argc, argv, "--mode", "flood");
    char text[1024], body[256];
    mode = !strcmp(name, "stamp") ? STAMP : !strcmp(name, "replay") ? REPLAY : FLOOD;
    wanted = number_option(argc, argv, "--count", 1000);
    bytes_each = number_option(argc, argv, "--bytes", 200);
    pause_us = number_option(argc, argv, "--pause-us", 1000);
    latencies = grow(NULL, (size_t)(wanted * readers + 1) * sizeof *latencies);
    poller = epoll_create1(EPOLL_CLOEXEC);

    struct reader *all = calloc((size_t)readers, sizeof *all);
    uint64_t start = now_ns(), again_until = start + (uint64_t)again_ms * 1000000ull;
    snprintf(stream_request, sizeof stream_request,
             "GET /v1/acp/%s HTTP/1.1\r\nHost: 127.0.0.1:%d\r\nAuthorization: Bearer %s\r\n"
             "Accept: text/event-stream\r\n\r\n",
             server_id, port, token);
    for (int i = 0; i < readers; i++) {
        flood_line_begin(&all[i].next, (size_t)bytes_each);
        open_stream(&all[i], port);
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
            opened &= all[i].in != HEAD;
            complete &= all[i].next.number >= wanted || all[i].ended;
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
        if (asked && complete) {
            if (mode != REPLAY || now >= again_until) break;
            times++;
            for (int i = 0; i < readers; i++) {
                count_missing(&all[i]);
                close(all[i].fd);
                flood_line_go_to(&all[i].next, 0);
                open_stream(&all[i], port);
            }
        }
        if (answered && now > heard && now - heard > (uint64_t)quiet_ms * 1000000ull) break;
        if (now > give_up) break;
    }
    for (int i = 0; i < readers; i++) count_missing(&all[i]);
    double seconds = last_at > start ? (double)(last_at - start) / 1e9 : 0;
    qsort(latencies, latency_count, sizeof *latencies, by_value);
    printf("{\"readers\":%d,\"expected\":%llu,\"delivered\":%llu,\"missing\":%llu,\"repeated\":%llu,"
           "\"altered\":%llu,\"gaps\":%llu,\"seconds\":%.6f,\"events_per_second\":%.1f,\"wire_bytes\":%llu,"
           "\"p50_us\":%.2f,\"p99_us\":%.2f}\n",
           readers, (unsigned long long)(wanted * readers * times), (unsigned long long)delivered,
           (unsigned long long)missing, (unsigned long long)repeated, (unsigned long long)altered,
           (unsigned long long)gaps, seconds, seconds > 0 ? (double)delivered / seconds : 0,
           (unsigned long long)wire_bytes,
           latency_count ? (double)latencies[latency_count / 2] / 1000.0 : 0,
           latency_count ? (double)latencies[(uint64_t)((double)(latency_count - 1) * 0.99)] / 1000.0 : 0);
    return 0;
}
