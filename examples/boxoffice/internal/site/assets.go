package site

import (
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"embed"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io/fs"
	"maps"
	"net/http"
	"path"
	"slices"
	"strconv"
	"strings"

	"github.com/millrace-go/millrace/examples/boxoffice/internal/site/locales"
)

//go:embed static
var staticFiles embed.FS

// assets are the files under /static/, addressed below one hash of all of
// them. With the hash in the folder and not in each name, the modules import
// each other by plain relative paths, and a browser that has loaded one file of
// a version never mixes it with a file of another.
type assets struct {
	hash   string
	files  map[string]asset
	worker []byte
}

type asset struct {
	body        []byte
	compressed  []byte // gzip; nil when that would not be smaller
	contentType string
}

// contentTypes are named here because the mime package reads the machine's own list,
// which may have fewer.
var contentTypes = map[string]string{
	".css":   "text/css; charset=utf-8",
	".js":    "text/javascript; charset=utf-8",
	".svg":   "image/svg+xml",
	".txt":   "text/plain; charset=utf-8",
	".woff2": "font/woff2",
}

func loadAssets(texts map[string]locales.Catalog) (*assets, error) {
	a := &assets{files: map[string]asset{}}
	err := fs.WalkDir(staticFiles, "static", func(name string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		body, err := staticFiles.ReadFile(name)
		if err != nil {
			return err
		}
		return a.add(strings.TrimPrefix(name, "static/"), body)
	})
	if err != nil {
		return nil, fmt.Errorf("site: static files: %w", err)
	}
	for lang, catalog := range texts {
		module, err := json.Marshal(catalog)
		if err != nil {
			return nil, fmt.Errorf("site: catalog %s: %w", lang, err)
		}
		body := append(append([]byte("export default "), module...), ";\n"...)
		if err := a.add("i18n/"+lang+".js", body); err != nil {
			return nil, err
		}
	}
	a.hash = a.sum()
	worker, ok := a.files["js/worker.js"]
	if !ok {
		return nil, fmt.Errorf("site: static files: js/worker.js is missing")
	}
	a.worker = bytes.ReplaceAll(worker.body, []byte("__HASH__"), []byte(a.hash))
	return a, nil
}

func (a *assets) add(name string, body []byte) error {
	contentType, ok := contentTypes[path.Ext(name)]
	if !ok {
		return fmt.Errorf("site: static file %s: no content type is known for %q; add it to contentTypes", name, path.Ext(name))
	}
	a.files[name] = asset{body: body, compressed: compress(body), contentType: contentType}
	return nil
}

func compress(body []byte) []byte {
	var buffer bytes.Buffer
	w, _ := gzip.NewWriterLevel(&buffer, gzip.BestCompression)
	// A bytes.Buffer takes every write.
	_, _ = w.Write(body)
	_ = w.Close()
	if buffer.Len() >= len(body) {
		return nil
	}
	return buffer.Bytes()
}

func (a *assets) sum() string {
	sum := sha256.New()
	for _, name := range slices.Sorted(maps.Keys(a.files)) {
		fmt.Fprintf(sum, "%s\x00%d\x00", name, len(a.files[name].body))
		sum.Write(a.files[name].body)
	}
	return hex.EncodeToString(sum.Sum(nil))[:12]
}

// base is the folder that a page links its files from, without a slash at its
// end.
func (a *assets) base() string { return "/static/" + a.hash }

func (a *assets) serve(w http.ResponseWriter, r *http.Request) {
	name := r.PathValue("path")
	file, ok := a.files[name]
	if !ok {
		w.Header().Set("Cache-Control", "no-store")
		http.Error(w, "no such file", http.StatusNotFound)
		return
	}
	if r.PathValue("hash") != a.hash {
		// A page of another version: it is redirected to the current folder, from which its
		// modules load each other, so at least the modules fit.
		w.Header().Set("Cache-Control", "no-store")
		http.Redirect(w, r, a.base()+"/"+name, http.StatusTemporaryRedirect)
		return
	}
	w.Header().Set("Cache-Control", "public, max-age=31536000, immutable")
	a.write(w, r, file)
}

// serveWorker serves the service worker from the root, since a worker controls
// only pages below its own address. Browsers look for a new one by themselves.
func (a *assets) serveWorker(w http.ResponseWriter, r *http.Request) {
	w.Header().Set("Cache-Control", "no-cache")
	a.write(w, r, asset{body: a.worker, contentType: contentTypes[".js"]})
}

func (a *assets) write(w http.ResponseWriter, r *http.Request, file asset) {
	body := file.body
	w.Header().Set("Content-Type", file.contentType)
	if file.compressed != nil {
		w.Header().Set("Vary", "Accept-Encoding")
		if takesGzip(r.Header.Get("Accept-Encoding")) {
			w.Header().Set("Content-Encoding", "gzip")
			body = file.compressed
		}
	}
	w.Header().Set("Content-Length", fmt.Sprint(len(body)))
	if r.Method != http.MethodHead {
		_, _ = w.Write(body) // the client may be gone
	}
}

// takesGzip says whether a client names gzip, and does not refuse it by q=0.
func takesGzip(accepted string) bool {
	for coding := range strings.SplitSeq(accepted, ",") {
		name, weight, _ := strings.Cut(strings.ReplaceAll(coding, " ", ""), ";q=")
		if strings.EqualFold(name, "gzip") {
			q, err := strconv.ParseFloat(weight, 64)
			return err != nil || q > 0
		}
	}
	return false
}
