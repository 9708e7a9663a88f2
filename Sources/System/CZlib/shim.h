#pragma once
#include <zlib.h>

// Compresses bytes with gzip (RFC 1952) into memory of the same size. Returns the new size, or 0 if it isn't smaller.
// deflateInit2 is a macro that Swift can't import.
static inline size_t relay_gzip(const unsigned char *bytes, size_t length, unsigned char *output) {
    z_stream stream = {0};
    if (deflateInit2(&stream, Z_BEST_COMPRESSION, Z_DEFLATED, MAX_WBITS + 16, MAX_MEM_LEVEL, Z_DEFAULT_STRATEGY) != Z_OK) {
        return 0;
    }
    stream.next_in = (unsigned char *)bytes;
    stream.avail_in = (unsigned int)length;
    stream.next_out = output;
    stream.avail_out = (unsigned int)length;
    int end = deflate(&stream, Z_FINISH);
    size_t size = stream.total_out;
    deflateEnd(&stream);
    return end == Z_STREAM_END && size < length ? size : 0;
}

// Decodes bytes that must be one gzip member into memory of `capacity` bytes. Returns whether they are valid and fit.
static inline int relay_gunzip(
    const unsigned char *bytes, size_t length, unsigned char *output, size_t capacity, size_t *count) {
    z_stream stream = {0};
    *count = 0;
    if (inflateInit2(&stream, MAX_WBITS + 16) != Z_OK) return 0;
    stream.next_in = (unsigned char *)bytes;
    stream.avail_in = (unsigned int)length;
    stream.next_out = output;
    stream.avail_out = (unsigned int)capacity;
    int end = inflate(&stream, Z_FINISH);
    *count = stream.total_out;
    int is_whole = end == Z_STREAM_END && stream.avail_in == 0;
    inflateEnd(&stream);
    return is_whole;
}
