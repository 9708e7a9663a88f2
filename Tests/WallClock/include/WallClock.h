// Empty: the library is preloaded, and nothing calls it.
