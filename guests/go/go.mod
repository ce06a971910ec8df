module brigade/guests/go

go 1.24
