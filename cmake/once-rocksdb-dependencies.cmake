find_dependency(RocksDB)
