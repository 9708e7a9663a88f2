#pragma once
// The same view of the C library as elsewhere (docs/design/compiler.md).
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include <mysql.h>
#include <errmsg.h>
#include <mysqld_error.h>
