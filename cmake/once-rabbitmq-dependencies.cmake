find_dependency(rabbitmq-c)
