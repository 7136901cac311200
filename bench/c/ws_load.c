/* Load over WebSockets with JSON-RPC messages, one per text frame. Each connection begins with `initialize`, has
 * an agent of its own, and is one of two kinds:
 *
 *   requests   a closed loop: the next echo request is sent when the last one is answered
 *   flood      one flood request; its numbered notifications are compared with what the agent writes
 *
 * Every answer and every event is checked byte by byte. Prints one JSON object.
 *
 *   ws_load --port P --path PATH [--token T] [--connections C] [--bytes B]
 *           (--ms M [--warmup-ms W] | --flood N) */
#include "flood_line.h"

#include <sys/epoll.h>

#define ID_DIGITS 12
#define READ_ROOM (256 << 10)
#define FRAME_HEAD 14

struct connection {
    int fd, is_open, is_initialized;
    char *frame; /* head, mask of zeros, message */
    size_t frame_length, head_length, sent;
    char *in;
    size_t room, used;
    uint64_t id, started;
    struct flood_line expected;
    long events;
};

static long body_bytes, flood_count;
static size_t id_at, data_at, data_length, body_length;
static uint64_t *latencies, counted, answered, failed, altered, repeated, events_total, count_from, stop_at;
static uint64_t first_event, last_event;
static size_t latency_room;
static int working, poller;

/* A frame of a client has a mask; zeros leave the message as it is. */
static void put_frame(struct connection *c, const char *message, size_t length) {
    unsigned char *to = (unsigned char *)c->frame;
    size_t at = 2;
    to[0] = 0x81;
    if (length < 126) to[1] = (unsigned char)(0x80 | length);
    else if (length < 65536) {
        to[1] = 0x80 | 126;
        to[2] = (unsigned char)(length >> 8);
        to[3] = (unsigned char)length;
        at = 4;
    } else {
        to[1] = 0x80 | 127;
        for (int i = 0; i < 8; i++) to[2 + i] = (unsigned char)((uint64_t)length >> (56 - 8 * i));
        at = 10;
    }
    memset(to + at, 0, 4);
    c->head_length = at + 4;
    memcpy(c->frame + c->head_length, message, length);
    c->frame_length = c->head_length + length;
    c->sent = 0;
}

static int push(struct connection *c) {
    while (c->sent < c->frame_length) {
        ssize_t wrote = write(c->fd, c->frame + c->sent, c->frame_length - c->sent);
        if (wrote < 0 && errno == EAGAIN) {
            struct epoll_event e = {.events = EPOLLIN | EPOLLOUT, .data.ptr = c};
            epoll_ctl(poller, EPOLL_CTL_MOD, c->fd, &e);
            return 0;
        }
        if (wrote <= 0) return -1;
        c->sent += (size_t)wrote;
    }
    struct epoll_event e = {.events = EPOLLIN, .data.ptr = c};
    epoll_ctl(poller, EPOLL_CTL_MOD, c->fd, &e);
    return 0;
}

static void build_echo(struct connection *c) {
    char envelope[256];
    int length = sprintf(
        envelope, "{\"jsonrpc\":\"2.0\",\"id\":%0*d,\"method\":\"echo\",\"params\":{\"data\":\"", ID_DIGITS, 0);
    data_length = (size_t)(body_bytes > length + 3 + 32 ? body_bytes - length - 3 : 32);
    body_length = (size_t)length + data_length + 3;
    id_at = (size_t)(strstr(envelope, "\"id\":") - envelope) + 5;
    data_at = (size_t)length;
    char *body = grow(NULL, body_length);
    memcpy(body, envelope, data_at);
    fill_pattern(body + data_at, data_length);
    memcpy(body + data_at + data_length, "\"}}", 3);
    put_frame(c, body, body_length);
    free(body);
}

static int begin(struct connection *c) {
    if (flood_count) {
        char request[256];
        int length = sprintf(
            request, "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"flood\",\"params\":{\"bytes\":%ld,\"count\":%ld}}",
            body_bytes, flood_count);
        put_frame(c, request, (size_t)length);
        c->started = now_ns();
        return push(c);
    }
    if (now_ns() >= stop_at) {
        working--;
        return 0;
    }
    char digits[24];
    c->id++;
    snprintf(digits, sizeof digits, "%0*llu", ID_DIGITS, (unsigned long long)c->id);
    memcpy(c->frame + c->head_length + id_at, digits, ID_DIGITS);
    memcpy(c->frame + c->head_length + data_at, digits, ID_DIGITS);
    c->sent = 0;
    c->started = now_ns();
    return push(c);
}

static int right_answer(struct connection *c, const char *body, size_t length) {
    const char *sent = c->frame + c->head_length;
    size_t peek = length < 256 ? length : 256;
    const char *id = memmem(body, peek, "\"id\":", 5), *data = memmem(body, peek, "\"data\":\"", 8);
    if (!id || !data || memcmp(id + 5, sent + id_at, ID_DIGITS)) return 0;
    data += 8;
    if ((size_t)(body + length - data) != data_length + 3) return 0;
    return !memcmp(data, sent + data_at, data_length);
}

static int take_event(struct connection *c, const char *body, size_t length) {
    uint64_t now = now_ns();
    if (memmem(body, length < 64 ? length : 64, "\"id\":1,", 7)) { /* the answer ends the flood */
        working--;
        return 0;
    }
    if (!first_event) first_event = now;
    last_event = now;
    events_total++;
    if (length != c->expected.length - 1 || memcmp(body, c->expected.text, length)) altered++;
    flood_line_next(&c->expected);
    c->events++;
    return 0;
}

static int take(struct connection *c, const char *body, size_t length) {
    if (!c->is_initialized) {
        c->is_initialized = 1;
        if (!memmem(body, length, "\"result\"", 8)) failed++;
        if (!flood_count) build_echo(c);
        return begin(c);
    }
    if (flood_count) return take_event(c, body, length);
    uint64_t now = now_ns();
    answered++;
    if (!right_answer(c, body, length)) altered++;
    if (now >= count_from) {
        if (counted == latency_room) latencies = grow(latencies, (latency_room *= 2) * sizeof *latencies);
        latencies[counted++] = now - c->started;
    }
    return begin(c);
}

/* Handles the frames that are complete; -1 when the connection is closed or the frame is of another kind. */
static int take_frames(struct connection *c) {
    size_t at = 0;
    for (;;) {
        const unsigned char *head = (const unsigned char *)c->in + at;
        size_t have = c->used - at, length, skip = 2;
        if (have < 2) break;
        length = head[1] & 0x7f;
        if (length == 126) {
            if (have < 4) break;
            length = (size_t)head[2] << 8 | head[3];
            skip = 4;
        } else if (length == 127) {
            if (have < 10) break;
            length = 0;
            for (int i = 0; i < 8; i++) length = length << 8 | head[2 + i];
            skip = 10;
        }
        if (have < skip + length) {
            if (skip + length + 1 > c->room) c->in = grow(c->in, c->room = skip + length + READ_ROOM);
            break;
        }
        if (head[0] == 0x81) {
            if (take(c, c->in + at + skip, length)) return -1;
        } else if (head[0] != 0x89) return -1; /* pings are left unanswered in these seconds */
        at += skip + length;
    }
    memmove(c->in, c->in + at, c->used - at);
    c->used -= at;
    return 0;
}

static int pull(struct connection *c) {
    for (;;) {
        if (c->used + 1 >= c->room) c->in = grow(c->in, c->room = c->room * 2 + READ_ROOM);
        size_t wanted = c->room - c->used - 1;
        ssize_t got = read(c->fd, c->in + c->used, wanted);
        if (got < 0 && errno == EAGAIN) return 0;
        if (got <= 0) return -1;
        c->used += (size_t)got;
        if (!c->is_open) {
            c->in[c->used] = '\0';
            char *end = memmem(c->in, c->used, "\r\n\r\n", 4);
            if (!end) continue;
            if (strncmp(c->in, "HTTP/1.1 101", 12)) {
                fprintf(stderr, "%.400s\n", c->in);
                return -1;
            }
            c->is_open = 1;
            size_t head = (size_t)(end - c->in) + 4;
            memmove(c->in, c->in + head, c->used - head);
            c->used -= head;
            static const char initialize[] = "{\"jsonrpc\":\"2.0\",\"id\":0,\"method\":\"initialize\",\"params\":"
                                             "{\"protocolVersion\":1}}";
            put_frame(c, initialize, sizeof initialize - 1);
            if (push(c)) return -1;
        }
        if (take_frames(c)) return -1;
        if ((size_t)got < wanted) return 0;
    }
}

static int by_value(const void *a, const void *b) {
    uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;
    return x < y ? -1 : x > y;
}

static double share_us(double share) {
    return counted ? (double)latencies[(uint64_t)((double)(counted - 1) * share)] / 1000.0 : 0;
}

int main(int argc, char **argv) {
    int port = (int)number_option(argc, argv, "--port", 0);
    int connections = (int)number_option(argc, argv, "--connections", 1);
    long ms = number_option(argc, argv, "--ms", 1000), warmup = number_option(argc, argv, "--warmup-ms", 0);
    const char *token = option(argc, argv, "--token", ""), *path = option(argc, argv, "--path", "/acp");
    body_bytes = number_option(argc, argv, "--bytes", 200);
    flood_count = number_option(argc, argv, "--flood", 0);
    latencies = grow(NULL, (latency_room = 1 << 16) * sizeof *latencies);
    poller = epoll_create1(EPOLL_CLOEXEC);
    struct connection *all = calloc((size_t)connections, sizeof *all);
    for (int i = 0; i < connections; i++) {
        struct connection *c = &all[i];
        c->frame = grow(NULL, 4096 + (size_t)body_bytes + FRAME_HEAD);
        c->in = grow(NULL, c->room = READ_ROOM);
        c->id = 100000000000ull + (uint64_t)i * 1000000ull;
        if (flood_count) flood_line_begin(&c->expected, (size_t)body_bytes);
        c->fd = connect_loopback(port);
        struct epoll_event e = {.events = EPOLLIN, .data.ptr = c};
        epoll_ctl(poller, EPOLL_CTL_ADD, c->fd, &e);
        c->frame_length = (size_t)sprintf(
            c->frame,
            "GET %s HTTP/1.1\r\nHost: 127.0.0.1:%d\r\nAuthorization: Bearer %s\r\nConnection: Upgrade\r\n"
            "Upgrade: websocket\r\nSec-WebSocket-Version: 13\r\nSec-WebSocket-Key: AAAAAAAAAAAAAAAAAAAAAA==\r\n\r\n",
            path, port, token);
        c->sent = 0;
        working++;
        if (push(c)) die("handshake");
    }
    uint64_t start = now_ns(), lost = 0;
    count_from = start + (uint64_t)warmup * 1000000ull;
    stop_at = count_from + (uint64_t)ms * 1000000ull;
    uint64_t give_up = flood_count ? start + 120000000000ull : stop_at + 30000000000ull;
    struct epoll_event events[256];
    while (working > 0 && now_ns() < give_up) {
        int ready = epoll_wait(poller, events, 256, 1000);
        for (int i = 0; i < ready; i++) {
            struct connection *c = events[i].data.ptr;
            int bad = (events[i].events & EPOLLOUT) ? push(c) : 0;
            if (!bad && (events[i].events & (EPOLLIN | EPOLLHUP | EPOLLERR))) bad = pull(c);
            if (bad) {
                epoll_ctl(poller, EPOLL_CTL_DEL, c->fd, NULL);
                working--;
                lost++;
            }
        }
    }
    double seconds = (double)(now_ns() - count_from) / 1e9;
    double flood_seconds = (double)(last_event - first_event) / 1e9;
    uint64_t expected = (uint64_t)flood_count * (uint64_t)connections;
    qsort(latencies, counted, sizeof *latencies, by_value);
    printf("{\"answered\":%llu,\"counted\":%llu,\"per_second\":%.3f,\"p50_us\":%.2f,\"p99_us\":%.2f,"
           "\"failed\":%llu,\"altered\":%llu,\"lost\":%llu,\"expected\":%llu,\"delivered\":%llu,"
           "\"missing\":%lld,\"repeated\":%llu,\"events_per_second\":%.1f}\n",
           (unsigned long long)answered, (unsigned long long)counted, (double)counted / seconds, share_us(0.5),
           share_us(0.99), (unsigned long long)failed, (unsigned long long)altered,
           (unsigned long long)(lost + (uint64_t)(working > 0 ? working : 0)), (unsigned long long)expected,
           (unsigned long long)events_total, (long long)(expected - events_total), (unsigned long long)repeated,
           flood_seconds > 0 ? (double)events_total / flood_seconds : 0);
    return 0;
}
