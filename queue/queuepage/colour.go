package queuepage

import (
	"fmt"
	"math"
	"strconv"
)

// colour is red, green and blue, 0 to 255.
type colour [3]float64

func parseColour(text string) (colour, error) {
	n, err := strconv.ParseUint(text[min(1, len(text)):], 16, 32)
	if len(text) != 7 || text[0] != '#' || err != nil {
		return colour{}, fmt.Errorf("%.40q is no colour: write #rrggbb", text)
	}
	return colour{float64(n >> 16), float64(n >> 8 & 255), float64(n & 255)}, nil
}

// must parses a colour that was validated.
func must(text string) colour {
	c, err := parseColour(text)
	if err != nil {
		return colour{}
	}
	return c
}

// mix lays a part of one colour over another.
func mix(over, under string, part float64) string {
	a, b := must(over), must(under)
	var c [3]int
	for i := range c {
		c[i] = int(math.Round(a[i]*part + b[i]*(1-part)))
	}
	return fmt.Sprintf("#%02x%02x%02x", c[0], c[1], c[2])
}

// contrast of two colours, 1 to 21: https://www.w3.org/TR/WCAG22/#dfn-contrast-ratio.
func contrast(a, b string) float64 {
	x, y := luminance(must(a)), luminance(must(b))
	return (max(x, y) + 0.05) / (min(x, y) + 0.05)
}

func luminance(c colour) float64 {
	var linear [3]float64
	for i, v := range c {
		if v /= 255; v <= 0.04045 {
			linear[i] = v / 12.92
		} else {
			linear[i] = math.Pow((v+0.055)/1.055, 2.4)
		}
	}
	return 0.2126*linear[0] + 0.7152*linear[1] + 0.0722*linear[2]
}
