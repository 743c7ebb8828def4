package queuepage

import (
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"embed"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"html/template"
	"maps"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"
)

//go:embed page
var files embed.FS

// scripts make one program, in this order; %s is the kind.
var scripts = []string{"words.js", "memory.js", "estimate.js", "ask.js", "view.js", "reach.js", "steps.js", "%s.js", "start.js"}

// page is a waiting page: it answers with the same bytes for every event.
type page struct {
	plain, packed variant
	policy        string
	cacheControl  string
	retryAfter    string // of a page in place of others
}

// variant is the document in one encoding.
type variant struct {
	body []byte
	etag string
}

// New renders a page. It answers GET and HEAD, at any path, and with the same bytes for every
// event.
func New(cfg Config) (http.Handler, error) {
	cfg = cfg.withDefaults()
	if err := cfg.validate(); err != nil {
		return nil, fmt.Errorf("queuepage: Config.%w", err)
	}
	document, policy, err := render(cfg)
	if err != nil {
		return nil, fmt.Errorf("queuepage: render: %w", err)
	}
	packed, err := pack(document)
	if err != nil {
		return nil, fmt.Errorf("queuepage: compress: %w", err)
	}
	sum := sha256.Sum256(append([]byte(policy), document...))
	tag := base64.RawURLEncoding.EncodeToString(sum[:12])
	p := &page{
		plain:        variant{body: document, etag: `"` + tag + `"`},
		packed:       variant{body: packed, etag: `"` + tag + `-gzip"`},
		policy:       policy,
		cacheControl: fmt.Sprintf("public, max-age=%d, must-revalidate", int(cfg.MaxAge/time.Second)),
		retryAfter:   strconv.FormatInt(int64(cfg.RetryAfter/time.Second), 10),
	}
	if cfg.Event != "" {
		return http.HandlerFunc(p.serveInPlace), nil
	}
	return p, nil
}

// pack compresses a document. The style, the texts of a language and the program have
// letters of their own, and get a code of their own: a flush begins another.
func pack(document []byte) ([]byte, error) {
	var packed bytes.Buffer
	zip, err := gzip.NewWriterLevel(&packed, gzip.BestCompression)
	for _, end := range []string{"</style>", `"ko":[`, "<script>"} {
		part, rest, found := bytes.Cut(document, []byte(end))
		if err != nil || !found {
			continue
		}
		if _, err = zip.Write(append(bytes.Clone(part), end...)); err == nil {
			err = zip.Flush()
		}
		document = rest
	}
	if err == nil {
		_, err = zip.Write(document)
	}
	if err == nil {
		err = zip.Close()
	}
	return packed.Bytes(), err
}

// settings are the settings of the page's script.
type settings struct {
	Kind        string                       `json:"kind"`
	Path        string                       `json:"path"`
	Event       string                       `json:"event,omitempty"`
	Check       string                       `json:"check"`
	Heartbeat   string                       `json:"heartbeat,omitempty"`
	Leave       string                       `json:"leave,omitempty"`
	Assign      string                       `json:"assign,omitempty"`
	Admitted    string                       `json:"admitted"`
	SignIn      string                       `json:"signIn,omitempty"`
	Show        string                       `json:"show,omitempty"`
	Solver      string                       `json:"solver,omitempty"`
	EntryKey    string                       `json:"entryKey,omitempty"`
	BearerKey   string                       `json:"bearerKey,omitempty"`
	BearerField string                       `json:"bearerField,omitempty"`
	MoveOn      int                          `json:"moveOn"`
	Keep        int                          `json:"keep"`
	Language    string                       `json:"language"`
	Title       string                       `json:"title"`
	Home        string                       `json:"home,omitempty"`
	Keys        string                       `json:"keys"`  // of the texts, once for all languages, with spaces between
	Texts       map[string][]json.RawMessage `json:"texts"` // by language, in the order of Keys
}

// render returns the document, and the content security policy that lets its own
// content run and nothing else.
func render(cfg Config) (document []byte, policy string, err error) {
	source, err := files.ReadFile("page/texts.json")
	if err != nil {
		return nil, "", err
	}
	set := settings{
		Kind: "room", Path: cfg.Path, Event: cfg.Event, Check: cfg.Check, Heartbeat: cfg.Heartbeat, Leave: cfg.Leave, Assign: cfg.Assign, Admitted: cfg.Admitted,
		SignIn: cfg.SignIn, Show: cfg.Show, Solver: cfg.Solver, EntryKey: cfg.EntryKey, BearerKey: cfg.BearerKey, BearerField: cfg.BearerField,
		MoveOn: int(cfg.MoveOn / time.Second), Keep: int(cfg.Keep / time.Second), Language: cfg.Language, Title: cfg.Brand.Title, Home: cfg.Brand.Home,
	}
	if cfg.Gate {
		set.Kind = "gate"
	}
	if cfg.MoveOn < 0 {
		set.MoveOn = -1
	}
	if err := set.addTexts(source, cfg.Gate); err != nil {
		return nil, "", fmt.Errorf("texts: %w", err)
	}
	style, err := files.ReadFile("page/page.css")
	if err != nil {
		return nil, "", err
	}
	css := cfg.Brand.css() + tight.Replace(compact(string(style)))
	var program strings.Builder
	program.WriteString("(() => {\n'use strict';\n")
	for _, name := range scripts {
		part, err := files.ReadFile("page/" + strings.ReplaceAll(name, "%s", set.Kind))
		if err != nil {
			return nil, "", err
		}
		program.WriteString(squeeze(compact(string(part))))
	}
	program.WriteString("})();\n")

	html, err := template.ParseFS(files, "page/page.html")
	if err != nil {
		return nil, "", err
	}
	var out bytes.Buffer
	err = html.Execute(&out, map[string]any{
		"Language": cfg.Language, "Title": cfg.Brand.Title, "Home": cfg.Brand.Home, "Mark": cfg.Brand.Mark, "Icon": template.URL(cfg.Brand.icon()),
		"LightPaper": cfg.Brand.Light.Paper, "DarkPaper": cfg.Brand.Dark.Paper,
		"Style": template.CSS(css), "Config": set, "Script": template.JS(program.String()),
	})
	if err != nil {
		return nil, "", err
	}
	return out.Bytes(), contentSecurityPolicy(css, program.String(), cfg.Brand.HeadingsFile != "", cfg.Solver != ""), nil
}

// addTexts adds the texts that the page of a gate, or of a room, uses.
func (s *settings) addTexts(source []byte, gate bool) error {
	var all map[string]map[string]json.RawMessage
	if err := json.Unmarshal(source, &all); err != nil {
		return err
	}
	keys := slices.DeleteFunc(slices.Sorted(maps.Keys(all["en"])), func(key string) bool {
		if gate {
			return strings.HasSuffix(key, ".back")
		}
		return strings.HasSuffix(key, ".gate") || strings.HasPrefix(key, "opening.")
	})
	s.Keys, s.Texts = strings.Join(keys, " "), make(map[string][]json.RawMessage, len(all))
	for language, texts := range all {
		for _, key := range keys {
			s.Texts[language] = append(s.Texts[language], texts[key])
		}
	}
	return nil
}

// tight drops spaces that mean nothing to CSS.
var tight = strings.NewReplacer(": ", ":", " {", "{", "{ ", "{", "; }", "}", ";\n}", "}", "; ", ";", ", ", ",", "{\n", "{", "\n", "")

// compact drops indentation, empty lines, and comments that have lines of their
// own.
func compact(source string) string {
	var out strings.Builder
	within := false
	for line := range strings.Lines(source) {
		line = strings.TrimSpace(line)
		switch {
		case within:
			within = !strings.HasSuffix(line, "*/")
		case strings.HasPrefix(line, "/*"):
			within = !strings.HasSuffix(line, "*/")
		case line == "", strings.HasPrefix(line, "//"):
		default:
			out.WriteString(line + "\n")
		}
	}
	return out.String()
}

func contentSecurityPolicy(style, script string, font, solver bool) string {
	hash := func(text string) string {
		sum := sha256.Sum256([]byte(text))
		return "'sha256-" + base64.StdEncoding.EncodeToString(sum[:]) + "'"
	}
	policy := []string{
		"default-src 'none'",
		"script-src " + hash(script),
		"style-src " + hash(style),
		"connect-src 'self'",
		"img-src data:",
		"base-uri 'none'",
		"form-action 'none'",
		"frame-ancestors 'none'",
		"require-trusted-types-for 'script'",
	}
	if solver {
		policy = append(policy, "worker-src 'self'", "trusted-types solver")
	} else {
		policy = append(policy, "trusted-types 'none'")
	}
	if font {
		policy = append(policy, "font-src 'self'")
	}
	return strings.Join(policy, "; ")
}
