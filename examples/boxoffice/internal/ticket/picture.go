package ticket

import (
	"fmt"
	"strings"

	"rsc.io/qr"
)

// Quiet is the width of the light frame that a QR code needs, in modules.
const Quiet = 4

// Picture is a QR code as the path of an SVG image, in units of one module.
type Picture struct {
	// Size is the width and height, with the frame.
	Size int `json:"size"`
	// Path are the dark modules; everything else is light.
	Path string `json:"path"`
}

// Draw makes the QR code of a code. A sixth of it may be damaged.
func Draw(code string) (Picture, error) {
	c, err := qr.Encode(code, qr.M)
	if err != nil {
		return Picture{}, fmt.Errorf("ticket: draw: %w", err)
	}
	var path strings.Builder
	for y := range c.Size {
		for x := 0; x < c.Size; x++ {
			start := x
			for c.Black(x, y) {
				x++
			}
			if x > start {
				fmt.Fprintf(&path, "M%d %dh%dv1h-%dz", start+Quiet, y+Quiet, x-start, x-start)
			}
		}
	}
	return Picture{Size: c.Size + 2*Quiet, Path: path.String()}, nil
}
