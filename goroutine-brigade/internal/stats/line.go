package stats

import "math"

// Line is a straight line through points, by least squares.
type Line struct {
	// Slope is the rise for each unit of x.
	Slope float64
	// HalfWidth is half the width of the slope's 95 % confidence interval.
	HalfWidth float64
}

// studentT holds the 97.5 % quantile of Student's t distribution for 1, 2, …
// degrees of freedom.
var studentT = []float64{
	12.706, 4.303, 3.182, 2.776, 2.571, 2.447, 2.365, 2.306, 2.262, 2.228,
	2.201, 2.179, 2.160, 2.145, 2.131, 2.120, 2.110, 2.101, 2.093, 2.086,
}

// Fit draws the line through the points (x, y). The interval supposes errors
// that are normal and alike. It returns false for fewer than three points, or
// points of one x: then there is no interval.
func Fit(x, y []float64) (Line, bool) {
	if len(x) < 3 || len(x) != len(y) {
		return Line{}, false
	}
	meanX, meanY := mean(x), mean(y)
	var squares, products float64
	for i := range x {
		squares += (x[i] - meanX) * (x[i] - meanX)
		products += (x[i] - meanX) * (y[i] - meanY)
	}
	if squares == 0 {
		return Line{}, false
	}
	slope := products / squares
	var residuals float64
	for i := range x {
		distance := y[i] - meanY - slope*(x[i]-meanX)
		residuals += distance * distance
	}
	freedom := len(x) - 2
	quantile := studentT[min(freedom, len(studentT))-1]
	return Line{Slope: slope, HalfWidth: quantile * math.Sqrt(residuals/float64(freedom)/squares)}, true
}

func mean(values []float64) float64 {
	var sum float64
	for _, value := range values {
		sum += value
	}
	return sum / float64(len(values))
}
