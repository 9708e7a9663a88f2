#pragma once
// The same view of the C library as everywhere (docs/design/compiler.md).
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
// Wrappers for what Swift can't import: functions with variable arguments.
#include <curl/curl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>

static inline CURLcode relay_curl_set_text(CURL *handle, CURLoption option, const char *value) {
    return curl_easy_setopt(handle, option, value);
}
static inline CURLcode relay_curl_set_number(CURL *handle, CURLoption option, long value) {
    return curl_easy_setopt(handle, option, value);
}
static inline CURLcode relay_curl_set_size(CURL *handle, CURLoption option, curl_off_t value) {
    return curl_easy_setopt(handle, option, value);
}
static inline CURLcode relay_curl_set_pointer(CURL *handle, CURLoption option, void *value) {
    return curl_easy_setopt(handle, option, value);
}
static inline CURLcode relay_curl_set_list(CURL *handle, CURLoption option, struct curl_slist *value) {
    return curl_easy_setopt(handle, option, value);
}
static inline CURLcode relay_curl_set_writer(CURL *handle, curl_write_callback value) {
    return curl_easy_setopt(handle, CURLOPT_WRITEFUNCTION, value);
}
static inline CURLcode relay_curl_get_status(CURL *handle, long *value) {
    return curl_easy_getinfo(handle, CURLINFO_RESPONSE_CODE, value);
}
static inline CURLcode relay_curl_set_progress(CURL *handle, curl_xferinfo_callback value) {
    return curl_easy_setopt(handle, CURLOPT_XFERINFOFUNCTION, value);
}
static inline const char *relay_curl_get_content_type(CURL *handle) {
    char *value = NULL;
    curl_easy_getinfo(handle, CURLINFO_CONTENT_TYPE, &value);
    return value;
}
static inline curl_off_t relay_curl_get_retry_after(CURL *handle) {
    curl_off_t value = 0;
    curl_easy_getinfo(handle, CURLINFO_RETRY_AFTER, &value);
    return value;
}

static inline CURLcode relay_curl_set_open_socket(CURL *handle, curl_opensocket_callback value, void *context) {
    CURLcode code = curl_easy_setopt(handle, CURLOPT_OPENSOCKETFUNCTION, value);
    return code == CURLE_OK ? curl_easy_setopt(handle, CURLOPT_OPENSOCKETDATA, context) : code;
}
static inline CURLcode relay_curl_set_close_socket(CURL *handle, curl_closesocket_callback value, void *context) {
    CURLcode code = curl_easy_setopt(handle, CURLOPT_CLOSESOCKETFUNCTION, value);
    return code == CURLE_OK ? curl_easy_setopt(handle, CURLOPT_CLOSESOCKETDATA, context) : code;
}
static inline CURLcode relay_curl_get_number(CURL *handle, CURLINFO info, long *value) {
    return curl_easy_getinfo(handle, info, value);
}
static inline CURLcode relay_curl_get_size(CURL *handle, CURLINFO info, curl_off_t *value) {
    return curl_easy_getinfo(handle, info, value);
}
static inline const void *relay_curl_address(const struct curl_sockaddr *address) {
    return &address->addr;
}
// A socket for an address that libcurl chose, which fails when what it sent isn't acknowledged for so long.
static inline curl_socket_t relay_curl_open_socket(const struct curl_sockaddr *address, unsigned milliseconds) {
    int descriptor = socket(address->family, address->socktype | SOCK_CLOEXEC | SOCK_NONBLOCK, address->protocol);
    if (descriptor < 0) return CURL_SOCKET_BAD;
    setsockopt(descriptor, IPPROTO_TCP, TCP_USER_TIMEOUT, &milliseconds, sizeof milliseconds);
    return descriptor;
}

static inline CURLMcode relay_curl_multi_set_number(CURLM *multi, CURLMoption option, long value) {
    return curl_multi_setopt(multi, option, value);
}
static inline CURLMcode relay_curl_multi_set_callbacks(
    CURLM *multi, curl_socket_callback socket, curl_multi_timer_callback timer, void *context) {
    curl_multi_setopt(multi, CURLMOPT_SOCKETFUNCTION, socket);
    curl_multi_setopt(multi, CURLMOPT_SOCKETDATA, context);
    curl_multi_setopt(multi, CURLMOPT_TIMERFUNCTION, timer);
    return curl_multi_setopt(multi, CURLMOPT_TIMERDATA, context);
}
// The CURLOPT_PRIVATE of the next finished transfer and its result; NULL if there is none.
static inline void *relay_curl_multi_next_finished(CURLM *multi, CURLcode *result) {
    int left;
    CURLMsg *message;
    while ((message = curl_multi_info_read(multi, &left)) != NULL) {
        char *context = NULL;
        if (message->msg != CURLMSG_DONE) continue;
        *result = message->data.result;
        curl_easy_getinfo(message->easy_handle, CURLINFO_PRIVATE, &context);
        return context;
    }
    return NULL;
}
