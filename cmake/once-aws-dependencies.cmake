find_dependency(CURL)
find_dependency(OpenSSL)
