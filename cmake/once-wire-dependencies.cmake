find_dependency(simdjson)
find_dependency(OpenSSL)
