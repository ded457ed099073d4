find_dependency(OpenSSL)
