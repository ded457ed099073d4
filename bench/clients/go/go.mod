module clients

go 1.19

require once v0.0.0

replace once => ../../../clients/go
