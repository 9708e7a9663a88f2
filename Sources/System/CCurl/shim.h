#pragma once
// The same view of the C library as elsewhere (docs/design/compiler.md).
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
// Wrappers for what Swift can't import: functions with variable arguments.
#include <curl/curl.h>

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
