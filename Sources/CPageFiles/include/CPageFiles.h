#pragma once
#include <stddef.h>

/// A file of the web page in clients/web.
struct page_file {
    /// The path in the page's folder.
    const char *path;
    const unsigned char *bytes;
    size_t length;
};

/// How many files the page has.
extern const size_t page_files_count;

/// The files of the page.
const struct page_file *page_files(void);
