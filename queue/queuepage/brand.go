package queuepage

import (
	"cmp"
	"fmt"
	"regexp"
	"strings"
)

// Brand adapts the page to the look of a site. The zero value is plain and calm.
type Brand struct {
	// Title is the site's name. Default Waiting room.
	Title string
	// Home is a local path, of the link to the site's start. Empty has no link.
	Home string
	// Mark is drawn beside the title and is the tab's icon: path data of SVG in a
	// square of 32, for a line of width 2. Empty has none.
	Mark string
	// Headings and Body are families of fonts, first choice first: installed ones,
	// generic ones, or the one of HeadingsFile. Default the system's own.
	Headings, Body []string
	// HeadingsFile is a local path of the first of Headings as woff2. The page works
	// without it. Empty loads nothing.
	HeadingsFile string
	// Light and Dark are the colours by the visitor's theme.
	Light, Dark Palette
}

// Palette has colours as #rrggbb. Empty ones have their default. Texts that would
// be hard to read, by the contrasts of WCAG 2.2 AA, are refused.
type Palette struct {
	Paper    string // behind everything
	Sheet    string // behind highlighted parts
	Ink      string // of text
	Soft     string // of small print
	Rule     string // of lines that part
	Edge     string // of controls: 3:1 on Paper and Sheet
	Accent   string // of the site
	OnAccent string // of text on Accent
	Wash     string // behind the place in line: a tint of Accent
}

var (
	lightPalette = Palette{
		Paper: "#f4f6f9", Sheet: "#ffffff", Ink: "#18212c", Soft: "#4d5a69", Rule: "#d9e0e8",
		Edge: "#7b8794", Accent: "#1f4e8c", OnAccent: "#ffffff", Wash: "#e2eaf4",
	}
	darkPalette = Palette{
		Paper: "#11161d", Sheet: "#1a222c", Ink: "#e9eef4", Soft: "#a6b3c2", Rule: "#2d3947",
		Edge: "#718093", Accent: "#8fbbf2", OnAccent: "#0b1624", Wash: "#1c2a3c",
	}
)

// deep is how much of Accent lies over Wash where the pool is full; page.css has it
// too.
const deep = 0.304

func (b Brand) withDefaults() Brand {
	b.Title = cmp.Or(b.Title, "Waiting room")
	system := []string{"system-ui", "-apple-system", "Segoe UI", "Apple SD Gothic Neo", "Malgun Gothic", "Noto Sans KR", "sans-serif"}
	if len(b.Headings) == 0 {
		b.Headings = system
	}
	if len(b.Body) == 0 {
		b.Body = system
	}
	b.Light = b.Light.or(lightPalette)
	b.Dark = b.Dark.or(darkPalette)
	return b
}

// named is a colour with the name of its field and of its CSS variable.
type named struct {
	name, variable string
	value          *string
}

// fields lists the colours.
func (p *Palette) fields() []named {
	return []named{
		{"Paper", "paper", &p.Paper}, {"Sheet", "sheet", &p.Sheet}, {"Ink", "ink", &p.Ink}, {"Soft", "soft", &p.Soft}, {"Rule", "rule", &p.Rule},
		{"Edge", "edge", &p.Edge}, {"Accent", "accent", &p.Accent}, {"OnAccent", "on-accent", &p.OnAccent}, {"Wash", "wash", &p.Wash},
	}
}

func (p Palette) or(standard Palette) Palette {
	other := standard.fields()
	for i, field := range p.fields() {
		*field.value = cmp.Or(*field.value, *other[i].value)
	}
	return p
}

var (
	family   = regexp.MustCompile(`^-?[\p{L}\p{N}][\p{L}\p{N} _-]{0,63}$`)
	pathData = regexp.MustCompile(`^[MmLlHhVvCcSsQqTtAaZz0-9 .,+-]+$`)
)

func (b Brand) validate() error {
	if len(b.Title) > 200 || strings.ContainsFunc(b.Title, func(r rune) bool { return r < ' ' }) {
		return fmt.Errorf("Brand.Title %.40q: at most 200 bytes on one line", b.Title)
	}
	if len(b.Mark) > 4000 || b.Mark != "" && !pathData.MatchString(b.Mark) {
		return fmt.Errorf("Brand.Mark %.40q is no SVG path data of at most 4,000 bytes: set what stands in the attribute d", b.Mark)
	}
	for name, list := range map[string][]string{"Headings": b.Headings, "Body": b.Body} {
		for _, f := range list {
			if !family.MatchString(f) {
				return fmt.Errorf("Brand.%s has %.40q, which is no family of fonts: letters, digits, spaces and - only, one family each", name, f)
			}
		}
	}
	if strings.ContainsAny(b.HeadingsFile, "{}?#;") {
		return fmt.Errorf("Brand.HeadingsFile %q: set the bare path of a file", b.HeadingsFile)
	}
	if err := b.Light.validate(); err != nil {
		return fmt.Errorf("Brand.Light.%w", err)
	}
	if err := b.Dark.validate(); err != nil {
		return fmt.Errorf("Brand.Dark.%w", err)
	}
	return nil
}

func (p Palette) validate() error {
	for _, field := range p.fields() {
		if _, err := parseColour(*field.value); err != nil {
			return fmt.Errorf("%s %w", field.name, err)
		}
	}
	pool := mix(p.Accent, p.Wash, deep)
	for _, pair := range []struct {
		text, textName, ground, groundName string
		least                              float64
	}{
		{p.Ink, "Ink", p.Paper, "Paper", 4.5},
		{p.Ink, "Ink", p.Sheet, "Sheet", 4.5},
		{p.Ink, "Ink", p.Wash, "Wash", 4.5},
		{p.Ink, "Ink", pool, "Wash under Accent", 4.5},
		{p.Soft, "Soft", p.Paper, "Paper", 4.5},
		{p.Soft, "Soft", p.Sheet, "Sheet", 4.5},
		{p.OnAccent, "OnAccent", p.Accent, "Accent", 4.5},
		{p.Accent, "Accent", p.Paper, "Paper", 4.5},
		{p.Accent, "Accent", p.Sheet, "Sheet", 3},
		{p.Edge, "Edge", p.Paper, "Paper", 3},
		{p.Edge, "Edge", p.Sheet, "Sheet", 3},
	} {
		if got := contrast(pair.text, pair.ground); got < pair.least {
			return fmt.Errorf("%s %s on %s %s has a contrast of %.2f: choose colours with at least %.1f", pair.textName, pair.text, pair.groundName, pair.ground, got, pair.least)
		}
	}
	return nil
}

// css is the brand as variables, and its font.
func (b Brand) css() string {
	var s strings.Builder
	if b.HeadingsFile != "" {
		fmt.Fprintf(&s, "@font-face{font-family:%q;src:url(%q) format(\"woff2\");font-weight:100 900;font-display:swap}\n", b.Headings[0], b.HeadingsFile)
	}
	fmt.Fprintf(&s, ":root{color-scheme:light dark;--headings:%s;--body:%s;%s", families(b.Headings), families(b.Body), b.Light.css())
	s.WriteString("--ember:#b3391d;--on-ember:#fffdf8;--amber:#7d5400;--amber-wash:#f8ebcb}\n")
	fmt.Fprintf(&s, "@media(prefers-color-scheme:dark){:root{%s", b.Dark.css())
	s.WriteString("--ember:#ff9573;--on-ember:#2a0f07;--amber:#ecbd62;--amber-wash:#352b16}.notice{color:#f3eee2}}\n")
	s.WriteString("@media(prefers-color-scheme:light){.notice{color:#2a2110}}\n")
	return s.String()
}

func (p Palette) css() string {
	var s strings.Builder
	for _, field := range p.fields() {
		fmt.Fprintf(&s, "--%s:%s;", field.variable, *field.value)
	}
	return s.String()
}

// families quotes all names but the generic ones, which mean something else in
// quotes.
func families(list []string) string {
	generic := map[string]bool{
		"serif": true, "sans-serif": true, "monospace": true, "cursive": true, "system-ui": true, "-apple-system": true,
		"ui-serif": true, "ui-sans-serif": true, "ui-rounded": true, "ui-monospace": true,
	}
	out := make([]string, len(list))
	for i, name := range list {
		if out[i] = name; !generic[name] {
			out[i] = `"` + name + `"`
		}
	}
	return strings.Join(out, ",")
}

// icon is the mark as the tab's icon, or an empty one, which keeps browsers from
// asking for /favicon.ico.
func (b Brand) icon() string {
	if b.Mark == "" {
		return "data:,"
	}
	return "data:image/svg+xml," + strings.NewReplacer("#", "%23", "<", "%3C", ">", "%3E", `"`, "'", " ", "%20").Replace(
		`<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 32 32"><rect width="32" height="32" rx="7" fill="`+b.Light.Accent+
			`"/><path transform="translate(4 4) scale(.75)" fill="none" stroke="`+b.Light.OnAccent+`" stroke-width="2.6" stroke-linecap="round" d="`+b.Mark+`"/></svg>`)
}
