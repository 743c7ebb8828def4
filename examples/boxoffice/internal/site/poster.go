package site

import (
	"fmt"
	"hash/fnv"
	"html/template"
	"math"
	"math/rand/v2"
	"strconv"
	"strings"
)

// A show has no picture of its own, so each gets a poster that is drawn from
// its id: always the same one for the same id, and different motifs for the
// shows of a numbered series. A poster is a drawing, not information, and is
// hidden from screen readers.
const (
	posterWidth  = 800
	posterHeight = 500
)

// palette has the colours of a poster. Posters keep their colours in both themes, as
// paper would.
type palette struct {
	sky, glow, far, mid, near, line string
}

var palettes = []palette{
	{sky: "#17383b", glow: "#f0d9a0", far: "#215053", mid: "#2f7471", near: "#0c2224", line: "#9fd3c3"}, // night water
	{sky: "#f3c98b", glow: "#fbeed2", far: "#d98a5b", mid: "#a8503f", near: "#4a2a3a", line: "#fbe3bb"}, // evening wind
	{sky: "#2b2746", glow: "#f3a886", far: "#453c6b", mid: "#77598c", near: "#191630", line: "#f7d6c4"}, // last light
	{sky: "#e8d5c4", glow: "#c8452d", far: "#c9a58c", mid: "#876a5b", near: "#332c2b", line: "#f8efe4"}, // red sun
	{sky: "#dfe6d8", glow: "#f6c35c", far: "#a9c0ae", mid: "#5f8f86", near: "#23504f", line: "#fbf7ea"}, // first frost
}

// motifs draw a poster's subject over its sky.
var motifs = []func(*canvas){moonlitWaves, kites, millWheel, ripples, reeds}

// canvas collects the shapes of one poster. Only numbers and the palette's colours go
// into it, so its content needs no escaping.
type canvas struct {
	strings.Builder
	palette
	random *rand.Rand
}

// poster draws the poster of an id as an inline SVG.
func poster(id string) template.HTML {
	series, seed := seriesOf(id)
	c := &canvas{palette: palettes[series%uint64(len(palettes))], random: rand.New(rand.NewPCG(seed, 7))}
	fmt.Fprintf(c, `<svg xmlns="http://www.w3.org/2000/svg" class="poster" viewBox="0 0 %d %d" preserveAspectRatio="xMidYMid slice" aria-hidden="true" focusable="false">`, posterWidth, posterHeight)
	fmt.Fprintf(c, `<rect width="%d" height="%d" fill="%s"/>`, posterWidth, posterHeight, c.sky)
	motifs[series%uint64(len(motifs))](c)
	c.WriteString(`</svg>`)
	return template.HTML(c.String()) //nolint:gosec // built from numbers and constants only
}

// seriesOf returns an id's place in a series, its trailing number if it has
// one, and a seed from the whole id.
func seriesOf(id string) (series, seed uint64) {
	sum := fnv.New64a()
	sum.Write([]byte(id))
	seed = sum.Sum64()
	digits := len(id)
	for digits > 0 && id[digits-1] >= '0' && id[digits-1] <= '9' {
		digits--
	}
	if n, err := strconv.ParseUint(id[digits:], 10, 32); err == nil && n > 0 {
		return n - 1, seed
	}
	return seed, seed
}

func (c *canvas) between(low, high float64) float64 { return low + c.random.Float64()*(high-low) }

func (c *canvas) disc(x, y, r float64, colour string, opacity float64) {
	fmt.Fprintf(c, `<circle cx="%.0f" cy="%.0f" r="%.0f" fill="%s" opacity="%.2f"/>`, x, y, r, colour, opacity)
}

func (c *canvas) ring(x, y, r, width float64, colour string, opacity float64) {
	fmt.Fprintf(c, `<circle cx="%.1f" cy="%.1f" r="%.1f" fill="none" stroke="%s" stroke-width="%.1f" opacity="%.2f"/>`, x, y, r, colour, width, opacity)
}

// wave fills everything below a wavy line.
func (c *canvas) wave(y, height, length, phase float64, colour string, opacity float64) {
	fmt.Fprintf(c, `<path d="M0 %d`, posterHeight)
	for x := 0.0; x <= posterWidth; x += 20 {
		fmt.Fprintf(c, "L%.0f %.1f", x, y+height*math.Sin(x/length+phase)+height/3*math.Sin(x/length*2.3+phase*2))
	}
	fmt.Fprintf(c, `L%d %dZ" fill="%s" opacity="%.2f"/>`, posterWidth, posterHeight, colour, opacity)
}

// contour draws a thin wavy line.
func (c *canvas) contour(y, height, length, phase float64, opacity float64) {
	c.WriteString(`<path d="`)
	for x := 0.0; x <= posterWidth; x += 20 {
		command := "L"
		if x == 0 {
			command = "M"
		}
		fmt.Fprintf(c, "%s%.0f %.1f", command, x, y+height*math.Sin(x/length+phase))
	}
	fmt.Fprintf(c, `" fill="none" stroke="%s" stroke-width="1.5" opacity="%.2f"/>`, c.line, opacity)
}

// kites fly over hills on long strings.
func kites(c *canvas) {
	c.disc(c.between(470, 560), 250, 92, c.glow, 1)
	c.wave(330, 30, 150, c.between(0, 6), c.far, 1)
	c.wave(390, 24, 110, c.between(0, 6), c.mid, 1)
	for i, colour := range []string{c.mid, c.near, c.line} {
		x, y := 220+float64(i)*130+c.between(-24, 24), 96+float64(i%2)*74+c.between(-20, 20)
		size, lean := 52-float64(i)*8, c.between(-24, 24)
		fmt.Fprintf(c, `<path d="M%.0f %.0fC%.0f %.0f %.0f %.0f 130 470" fill="none" stroke="%s" stroke-width="1.4" opacity=".75"/>`, x, y, x-10, y+150, x-160, y+220, c.near)
		fmt.Fprintf(c, `<g transform="rotate(%.0f %.0f %.0f)">`, lean, x, y)
		fmt.Fprintf(c, `<path d="M%.0f %.0fl%.0f %.0fl%.0f %.0fl%.0f %.0fz" fill="%s"/>`, x, y-size, size*.7, size*.8, -size*.7, size*1.2, -size*.7, -size*1.2, colour)
		fmt.Fprintf(c, `<path d="M%.0f %.0fv%.0fM%.0f %.0fh%.0f" stroke="%s" stroke-width="1.6" opacity=".7"/>`, x, y-size, size*2, x-size*.7, y-size*.2, size*1.4, c.sky)
		fmt.Fprintf(c, `<path d="M%.0f %.0fq14 16 0 32t0 32t0 32" fill="none" stroke="%s" stroke-width="3" stroke-linecap="round"/>`, x, y+size, colour)
		c.WriteString(`</g>`)
	}
	c.wave(436, 12, 60, c.between(0, 6), c.near, 1)
	for i := range 4 {
		c.contour(454+float64(i)*13, 3, 34, c.between(0, 6), .28)
	}
}

// moonlitWaves is a moon over the sea, and its road on the water.
func moonlitWaves(c *canvas) {
	x := c.between(240, 380)
	c.disc(x, 150, 150, c.glow, .08)
	c.disc(x, 150, 104, c.glow, .12)
	c.disc(x, 150, 66, c.glow, 1)
	for range 40 {
		c.disc(c.between(0, posterWidth), c.between(10, 240), c.between(.8, 2.2), c.line, c.between(.3, .9))
	}
	c.wave(278, 10, 90, c.between(0, 6), c.far, 1)
	for i := range 9 {
		y := 296 + float64(i)*(8+float64(i)*1.1) // wider apart the nearer they are
		half := 20 + float64(i)*9 + c.between(-8, 8)
		fmt.Fprintf(c, `<path d="M%.0f %.0fh%.0f" stroke="%s" stroke-width="4" stroke-linecap="round" opacity="%.2f"/>`, x-half+c.between(-12, 12), y, 2*half, c.glow, .85-float64(i)*.075)
	}
	c.wave(352, 15, 76, c.between(0, 6), c.mid, .5)
	c.wave(410, 18, 92, c.between(0, 6), c.near, .92)
	for i := range 3 {
		c.contour(430+float64(i)*22, 8, 70, c.between(0, 6), .3)
	}
}

// reeds stand in shallow water in front of a low sun.
func reeds(c *canvas) {
	c.disc(c.between(250, 330), 300, 118, c.glow, .95)
	c.wave(330, 8, 120, c.between(0, 6), c.far, .85)
	c.wave(392, 6, 90, c.between(0, 6), c.mid, .8)
	for i := range 46 {
		x := c.between(0, posterWidth)
		if i%3 > 0 {
			x = 420 + math.Abs(c.random.NormFloat64())*150
		}
		height := c.between(120, 360)
		lean := c.between(-46, 20)
		top := posterHeight - height
		fmt.Fprintf(c, `<path d="M%.0f %d Q%.0f %.0f %.0f %.0f" fill="none" stroke="%s" stroke-width="%.1f" stroke-linecap="round" opacity="%.2f"/>`,
			x, posterHeight, x, top+height*.4, x+lean, top, c.near, c.between(1.6, 5), c.between(.6, 1))
		if i%4 == 0 {
			fmt.Fprintf(c, `<ellipse cx="%.0f" cy="%.0f" rx="6" ry="24" transform="rotate(%.0f %.0f %.0f)" fill="%s"/>`, x+lean, top, lean/2, x+lean, top, c.near)
		}
	}
	for i := range 4 {
		c.contour(410+float64(i)*22, 2.5, 40, c.between(0, 6), .5)
	}
}

// millWheel is the wheel itself, turning in its race.
func millWheel(c *canvas) {
	const x, y, spokes = 520.0, 250.0, 24
	for i := range 7 {
		c.ring(x, y, 250+float64(i)*34, 1.5, c.line, .2-float64(i)*.024)
	}
	c.disc(x, y, 206, c.glow, .95)
	c.ring(x, y, 178, 15, c.near, 1)
	c.ring(x, y, 132, 5, c.near, 1)
	turn := c.between(0, math.Pi)
	for i := range spokes {
		angle := turn + 2*math.Pi*float64(i)/spokes
		sin, cos := math.Sincos(angle)
		inner := 34.0
		if i%2 == 1 {
			inner = 132
		}
		fmt.Fprintf(c, `<path d="M%.1f %.1fL%.1f %.1f" stroke="%s" stroke-width="7"/>`, x+inner*cos, y+inner*sin, x+208*cos, y+208*sin, c.near)
		fmt.Fprintf(c, `<path d="M%.1f %.1fL%.1f %.1f" stroke="%s" stroke-width="11" stroke-linecap="round"/>`,
			x+192*cos-14*sin, y+192*sin+14*cos, x+210*cos+12*sin, y+210*sin-12*cos, c.near)
	}
	c.disc(x, y, 36, c.near, 1)
	c.disc(x, y, 12, c.glow, 1)
	c.wave(398, 10, 66, c.between(0, 6), c.mid, .96)
	c.wave(434, 9, 52, c.between(0, 6), c.far, 1)
	for i := range 4 {
		c.contour(412+float64(i)*22, 5, 44, c.between(0, 6), .55)
	}
}

// ripples are the rings of two drops in a still pond.
func ripples(c *canvas) {
	drops := [][3]float64{{c.between(230, 290), 240, 13}, {c.between(540, 600), 320, 9}}
	for d, drop := range drops {
		for i := int(drop[2]); i > 0; i-- {
			r := 18 + float64(i)*float64(i)*2.1
			colour := c.mid
			if d == 1 {
				colour = c.near
			}
			c.ring(drop[0], drop[1], r, 1+float64(i)*.35, colour, .85-float64(i)*.045)
		}
	}
	c.disc(drops[0][0], drops[0][1], 92, c.glow, 1)
	c.disc(drops[1][0], drops[1][1], 14, c.near, 1)
	for i := range 3 {
		c.contour(456+float64(i)*14, 2.5, 60, c.between(0, 6), .9)
	}
}
