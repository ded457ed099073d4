find_dependency(simdjson)
