// The HTTP reference: libevent's server with one thread, which returns the relay's responses.
// Usage: evhttp PORT
#include <event2/buffer.h>
#include <event2/event.h>
#include <event2/http.h>
#include <event2/keyvalq_struct.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>

static void answer(struct evhttp_request *request, int status, const char *phrase, const char *body) {
    struct evbuffer *buffer = evhttp_request_get_output_buffer(request);
    evhttp_add_header(evhttp_request_get_output_headers(request), "Content-Type", "application/json");
    evbuffer_add_printf(buffer, "%s", body);
    evhttp_send_reply(request, status, phrase, NULL);
}

static void health(struct evhttp_request *request, void *context) {
    (void)context;
    answer(request, 200, "OK", "{\"ok\":true}");
}

// The relay's response to a body that is not JSON. This server doesn't parse the body.
static void refusal(struct evhttp_request *request, void *context) {
    (void)context;
    answer(request, 400, "Bad Request",
           "{\"ok\":false,\"error\":\"The body is not a JSON object.\",\"code\":\"invalid_body\"}");
}

int main(int count, char **arguments) {
    if (count != 2) {
        fprintf(stderr, "usage: evhttp PORT\n");
        return 64;
    }
    signal(SIGPIPE, SIG_IGN);
    struct event_base *base = event_base_new();
    struct evhttp *http = evhttp_new(base);
    evhttp_set_cb(http, "/health", health, NULL);
    evhttp_set_cb(http, "/v1/event", refusal, NULL);
    if (evhttp_bind_socket(http, "127.0.0.1", (ev_uint16_t)atoi(arguments[1])) != 0) {
        perror("bind");
        return 69;
    }
    return event_base_dispatch(base) == 0 ? 0 : 70;
}
