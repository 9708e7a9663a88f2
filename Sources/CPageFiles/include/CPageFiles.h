#pragma once
#include <stddef.h>

/// A file of a page in clients/web or clients/console.
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

/// How many files the operator's console has.
extern const size_t console_files_count;

/// The files of the operator's console.
const struct page_file *console_files(void);
