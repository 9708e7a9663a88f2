#pragma once
#include <sqlite3.h>

// SQLITE_TRANSIENT, which makes SQLite copy the bytes before it returns, is a cast that Swift can't import.
static inline int relay_sqlite3_bind_text(sqlite3_stmt *statement, int index, const char *text, int length) {
    return sqlite3_bind_text(statement, index, text, length, SQLITE_TRANSIENT);
}
static inline int relay_sqlite3_bind_blob(sqlite3_stmt *statement, int index, const void *bytes, int length) {
    return sqlite3_bind_blob(statement, index, bytes, length, SQLITE_TRANSIENT);
}

// sqlite3_config takes a variable number of arguments. Without the count of allocated bytes, which nobody reads here,
// threads don't contend for a process-wide mutex on each allocation. Only before SQLite's first use.
static inline int relay_sqlite3_disable_memory_statistics(void) {
    return sqlite3_config(SQLITE_CONFIG_MEMSTATUS, 0);
}
