/* Closed-loop HTTP load over keep-alive connections: each connection sends its next request when the last
 * is answered. Echo requests by default, or GET of one path with --get. Every answer is checked byte by
 * byte: status, id, and the payload, which differs in each request. Prints one JSON object.
 *
 *   http_load --port P --token T --server-id ID [--instances N] [--bytes B] [--connections C]
 *             (--ms M [--warmup-ms W] | --requests R) [--pause-us U] [--get PATH]
 *
 * With --instances N, connection i talks to ID-(i modulo N). */
#include "common.h"

#include <sys/epoll.h>

#define ID_DIGITS 12
#define READ_ROOM (64 << 10)

struct connection {
    int fd, waits_to_write;
    char *request;
    size_t request_length, head_length, sent;
    char *answer;
    size_t answer_room, answer_used, answer_length; /* answer_length 0: head not complete */
    size_t body_at;
    int status;
    uint64_t id, started;
    long done;
};

static long body_bytes, requests_each, pause_us;
static const char *get_path;
static size_t id_at, data_at, data_length; /* in the body */
static uint64_t *latencies, counted, answered, failed, altered, count_from, stop_at;
static size_t latency_room;
static int in_flight, poller;

static void build(struct connection *c, int port, const char *token, const char *server_id) {
    size_t head_room = 1024;
    c->request = grow(NULL, head_room + (size_t)body_bytes + 256);
    if (get_path) {
        c->request_length = (size_t)snprintf(
            c->request, head_room, "GET %s HTTP/1.1\r\nHost: 127.0.0.1:%d\r\nAuthorization: Bearer %s\r\n\r\n",
            get_path, port, token);
        return;
    }
    char envelope[256];
    int envelope_length = sprintf(
        envelope, "{\"jsonrpc\":\"2.0\",\"id\":%0*d,\"method\":\"echo\",\"params\":{\"data\":\"", ID_DIGITS, 0);
    data_length = (size_t)(body_bytes > envelope_length + 3 + 32 ? body_bytes - envelope_length - 3 : 32);
    size_t body = (size_t)envelope_length + data_length + 3;
    c->head_length = (size_t)snprintf(
        c->request, head_room,
        "POST /v1/acp/%s HTTP/1.1\r\nHost: 127.0.0.1:%d\r\nAuthorization: Bearer %s\r\n"
        "Content-Type: application/json\r\nAccept: application/json\r\nContent-Length: %zu\r\n\r\n",
        server_id, port, token, body);
    memcpy(c->request + c->head_length, envelope, (size_t)envelope_length);
    id_at = (size_t)(strstr(envelope, "\"id\":") - envelope) + 5;
    data_at = (size_t)envelope_length;
    fill_pattern(c->request + c->head_length + data_at, data_length);
    memcpy(c->request + c->head_length + data_at + data_length, "\"}}", 3);
    c->request_length = c->head_length + body;
}

static void watch(struct connection *c, int writable) {
    struct epoll_event e = {.events = writable ? EPOLLIN | EPOLLOUT : EPOLLIN, .data.ptr = c};
    epoll_ctl(poller, EPOLL_CTL_MOD, c->fd, &e);
    c->waits_to_write = writable;
}

static int push(struct connection *c) {
    while (c->sent < c->request_length) {
        ssize_t wrote = write(c->fd, c->request + c->sent, c->request_length - c->sent);
        if (wrote < 0 && errno == EAGAIN) {
            if (!c->waits_to_write) watch(c, 1);
            return 0;
        }
        if (wrote <= 0) return -1;
        c->sent += (size_t)wrote;
    }
    if (c->waits_to_write) watch(c, 0);
    return 0;
}

static int begin(struct connection *c) {
    if (requests_each ? c->done >= requests_each : now_ns() >= stop_at) return 0;
    if (pause_us) usleep((useconds_t)pause_us);
    c->id++;
    if (!get_path) {
        char digits[24];
        snprintf(digits, sizeof digits, "%0*llu", ID_DIGITS, (unsigned long long)c->id);
        memcpy(c->request + c->head_length + id_at, digits, ID_DIGITS);
        memcpy(c->request + c->head_length + data_at, digits, ID_DIGITS);
    }
    c->sent = c->answer_used = c->answer_length = 0;
    in_flight++;
    c->started = now_ns();
    return push(c);
}

/* 1 when the head is there, 0 when more is needed, -1 when it is not an answer with a length. */
static int read_head(struct connection *c) {
    char *end = memmem(c->answer, c->answer_used, "\r\n\r\n", 4);
    if (!end) return c->answer_used > 16384 ? -1 : 0;
    if (sscanf(c->answer, "HTTP/1.1 %d", &c->status) != 1) return -1;
    for (char *line = c->answer; line && line < end; line = memmem(line, (size_t)(end - line), "\r\n", 2)) {
        line += 2;
        if (!strncasecmp(line, "content-length:", 15)) {
            c->body_at = (size_t)(end - c->answer) + 4;
            c->answer_length = c->body_at + strtoul(line + 15, NULL, 10);
            return 1;
        }
    }
    return -1;
}

static int right_answer(struct connection *c) {
    const char *body = c->answer + c->body_at, *sent = c->request + c->head_length;
    size_t length = c->answer_length - c->body_at, peek = length < 256 ? length : 256;
    if (get_path) return 1;
    const char *id = memmem(body, peek, "\"id\":", 5), *data = memmem(body, peek, "\"data\":\"", 8);
    if (!id || !data || memcmp(id + 5, sent + id_at, ID_DIGITS)) return 0;
    data += 8;
    if ((size_t)(body + length - data) != data_length + 3) return 0;
    return !memcmp(data, sent + data_at, data_length);
}

static void finish(struct connection *c) {
    uint64_t now = now_ns();
    in_flight--;
    answered++;
    c->done++;
    if (c->status != 200) failed++;
    else if (!right_answer(c)) altered++;
    if (now < count_from) return;
    if (counted == latency_room) latencies = grow(latencies, (latency_room *= 2) * sizeof *latencies);
    latencies[counted++] = now - c->started;
}

/* Reads what is there; -1 when the connection is lost. */
static int pull(struct connection *c) {
    for (;;) {
        size_t wanted = c->answer_length ? c->answer_length - c->answer_used : READ_ROOM;
        if (c->answer_used + wanted + 1 > c->answer_room)
            c->answer = grow(c->answer, c->answer_room = c->answer_used + wanted + READ_ROOM);
        ssize_t got = read(c->fd, c->answer + c->answer_used, wanted);
        if (got < 0 && errno == EAGAIN) return 0;
        if (got <= 0) return -1;
        c->answer_used += (size_t)got;
        c->answer[c->answer_used] = '\0';
        if (!c->answer_length && read_head(c) < 0) return -1;
        if (c->answer_length && c->answer_used >= c->answer_length) {
            if (c->answer_used > c->answer_length) altered++;
            finish(c);
            return begin(c);
        }
        if ((size_t)got < wanted) return 0;
    }
}

static int by_value(const void *a, const void *b) {
    uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;
    return x < y ? -1 : x > y;
}

static double share_us(double share) {
    if (!counted) return 0;
    uint64_t at = (uint64_t)((double)(counted - 1) * share);
    return (double)latencies[at] / 1000.0;
}

int main(int argc, char **argv) {
    int port = (int)number_option(argc, argv, "--port", 0);
    int connections = (int)number_option(argc, argv, "--connections", 1);
    int instances = (int)number_option(argc, argv, "--instances", 0);
    long ms = number_option(argc, argv, "--ms", 1000), warmup = number_option(argc, argv, "--warmup-ms", 0);
    const char *token = option(argc, argv, "--token", ""), *server_id = option(argc, argv, "--server-id", "b");
    get_path = option(argc, argv, "--get", NULL);
    body_bytes = number_option(argc, argv, "--bytes", 200);
    requests_each = number_option(argc, argv, "--requests", 0);
    pause_us = number_option(argc, argv, "--pause-us", 0);
    latencies = grow(NULL, (latency_room = 1 << 16) * sizeof *latencies);
    poller = epoll_create1(EPOLL_CLOEXEC);

    struct connection *all = calloc((size_t)connections, sizeof *all);
    for (int i = 0; i < connections; i++) {
        char name[256];
        if (instances) snprintf(name, sizeof name, "%s-%d", server_id, i % instances);
        else snprintf(name, sizeof name, "%s", server_id);
        /* Ids of one run differ from those of any other run against the same instance. */
        all[i].id = 100000000000ull + (uint64_t)(getpid() % 8000) * 100000000ull + (uint64_t)i * 1000000ull;
        build(&all[i], port, token, name);
        all[i].fd = connect_loopback(port);
        struct epoll_event e = {.events = EPOLLIN, .data.ptr = &all[i]};
        epoll_ctl(poller, EPOLL_CTL_ADD, all[i].fd, &e);
    }
    uint64_t start = now_ns(), lost = 0;
    count_from = start + (uint64_t)warmup * 1000000ull;
    stop_at = count_from + (uint64_t)ms * 1000000ull;
    uint64_t give_up = (requests_each ? start + 300000000000ull : stop_at + 30000000000ull);
    for (int i = 0; i < connections; i++)
        if (begin(&all[i])) die("first request");
    struct epoll_event events[256];
    while (in_flight && now_ns() < give_up) {
        int ready = epoll_wait(poller, events, 256, 1000);
        for (int i = 0; i < ready; i++) {
            struct connection *c = events[i].data.ptr;
            int bad = (events[i].events & EPOLLOUT) ? push(c) : 0;
            if (!bad && (events[i].events & (EPOLLIN | EPOLLHUP | EPOLLERR))) bad = pull(c);
            if (bad) {
                epoll_ctl(poller, EPOLL_CTL_DEL, c->fd, NULL);
                in_flight--;
                lost++;
            }
        }
    }
    double seconds = (double)(now_ns() - (count_from > start ? count_from : start)) / 1e9;
    qsort(latencies, counted, sizeof *latencies, by_value);
    printf("{\"answered\":%llu,\"counted\":%llu,\"seconds\":%.6f,\"per_second\":%.3f,\"p50_us\":%.2f,"
           "\"p99_us\":%.2f,\"failed\":%llu,\"altered\":%llu,\"lost\":%llu}\n",
           (unsigned long long)answered, (unsigned long long)counted, seconds, (double)counted / seconds,
           share_us(0.5), share_us(0.99), (unsigned long long)failed, (unsigned long long)altered,
           (unsigned long long)(lost + (uint64_t)in_flight));
    return 0;
}
