find_dependency(OpenSSL)
find_dependency(rabbitmq-c)
