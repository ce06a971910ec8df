module brigade/goroutine-brigade

go 1.24

require (
	github.com/HdrHistogram/hdrhistogram-go v1.4.0
	golang.org/x/sys v0.33.0
)
