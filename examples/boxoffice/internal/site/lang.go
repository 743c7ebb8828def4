package site

import (
	"embed"
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"time"

	"golang.org/x/text/language"

	"github.com/millrace-go/millrace/examples/boxoffice/internal/door"
)

//go:embed locales/*.json
var localeFiles embed.FS

// languages are the site's languages; the first is used when a browser wants
// none of them. Each has its catalog in locales/.
var languages = []string{"en", "ko"}

// languageCookie keeps the choice made with ?lang=.
const languageCookie = "lang"

var languageMatcher = language.NewMatcher([]language.Tag{language.English, language.Korean})

// catalog is one language's texts by key. A text may hold {name} placeholders.
type catalog map[string]string

type catalogs map[string]catalog

func loadCatalogs() (catalogs, error) {
	all := catalogs{}
	for _, lang := range languages {
		data, err := localeFiles.ReadFile("locales/" + lang + ".json")
		if err != nil {
			return nil, fmt.Errorf("site: catalog %s: %w", lang, err)
		}
		var texts catalog
		if err := json.Unmarshal(data, &texts); err != nil {
			return nil, fmt.Errorf("site: catalog %s: %w", lang, err)
		}
		all[lang] = texts
	}
	return all, nil
}

// text returns the text of a key with its placeholders filled from args, which
// alternate name and value. An unknown key is shown as it is: a page with one
// odd word is better than none, and TestUsedKeysExist keeps it from happening.
func (c catalog) text(key string, args ...any) string {
	text, ok := c[key]
	if !ok {
		return key
	}
	if len(args) < 2 {
		return text
	}
	pairs := make([]string, 0, len(args))
	for i := 0; i+1 < len(args); i += 2 {
		pairs = append(pairs, "{"+fmt.Sprint(args[i])+"}", fmt.Sprint(args[i+1]))
	}
	return strings.NewReplacer(pairs...).Replace(text)
}

// negotiate picks the language of an answer: ?lang= first, then the cookie
// that an earlier ?lang= has set, then Accept-Language.
func negotiate(r *http.Request) string {
	if lang := r.URL.Query().Get("lang"); known(lang) {
		return lang
	}
	if cookie, err := r.Cookie(languageCookie); err == nil && known(cookie.Value) {
		return cookie.Value
	}
	_, index := language.MatchStrings(languageMatcher, r.Header.Get("Accept-Language"))
	return languages[index]
}

// remember keeps a language that was asked for by ?lang= for a year.
func remember(w http.ResponseWriter, r *http.Request) {
	lang := r.URL.Query().Get("lang")
	if !known(lang) {
		return
	}
	http.SetCookie(w, &http.Cookie{
		Name:     languageCookie,
		Value:    lang,
		Path:     "/",
		MaxAge:   int((365 * 24 * time.Hour).Seconds()),
		SameSite: http.SameSiteLaxMode,
		HttpOnly: true,
		Secure:   door.HTTPS(r),
	})
}

func known(lang string) bool {
	for _, l := range languages {
		if l == lang {
			return true
		}
	}
	return false
}
