#pragma once
#include <zlib.h>

// Writes bytes in gzip's format (RFC 1952) to memory of the same size. Returns the size, or 0 if that isn't smaller.
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
