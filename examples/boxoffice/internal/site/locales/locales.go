// Package locales holds the texts of the box office in each of its languages, and finds
// the language of a request. The pages are rendered with these texts on the server and in
// the browser, and package notices makes sentences of them.
//
//	lang := locales.Negotiate(r)
//	locales.Of(lang).Text("seats.row", "row", "A") // "Row A", "A열"
//
// A language is one file, LANGUAGE.json. TestCatalogsAgree of package site proves that all
// files have the same keys with the same placeholders.
package locales

import (
	"embed"
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"
	"sync"

	"golang.org/x/text/feature/plural"
	"golang.org/x/text/language"
)

//go:embed *.json
var files embed.FS

// Cookie keeps the choice that a reader made with ?lang=.
const Cookie = "lang"

// Languages are the site's languages. The first one is used when a browser asks for other
// ones only.
func Languages() []string { return []string{"en", "ko"} }

// Catalog is the texts of one language by key. A text may hold {name} placeholders.
type Catalog map[string]string

// parsed reads the embedded files once. A file that is not JSON cannot pass the tests.
var parsed = sync.OnceValue(func() map[string]Catalog {
	catalogs := map[string]Catalog{}
	for _, lang := range Languages() {
		data, err := files.ReadFile(lang + ".json")
		var texts Catalog
		if err == nil {
			err = json.Unmarshal(data, &texts)
		}
		if err != nil {
			panic(fmt.Sprintf("locales: %s: %v", lang, err))
		}
		catalogs[lang] = texts
	}
	return catalogs
})

// All returns the texts of all languages. The caller must not change them.
func All() map[string]Catalog { return maps.Clone(parsed()) }

// Of returns the texts of one of the [Languages], or nil. The caller must not change them.
func Of(lang string) Catalog { return parsed()[lang] }

// Known reports whether lang is one of the [Languages].
func Known(lang string) bool { return slices.Contains(Languages(), lang) }

// Text returns the text of a key with its placeholders filled from args, which alternate
// name and value. An unknown key is returned unchanged: a page with one odd word is better
// than none, and TestUsedKeysExist prevents it.
func (c Catalog) Text(key string, args ...any) string {
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

// Plural returns the form of a text that n takes in a language: "one" or "other".
func Plural(lang string, n int) string {
	if plural.Cardinal.MatchPlural(language.Make(lang), n, 0, 0, 0, 0) == plural.One {
		return "one"
	}
	return "other"
}

var matcher = language.NewMatcher([]language.Tag{language.English, language.Korean}) // as Languages

// Negotiate picks the language of an answer: ?lang= first, then the cookie
// that an earlier ?lang= has set, then Accept-Language.
func Negotiate(r *http.Request) string {
	if lang := r.URL.Query().Get("lang"); Known(lang) {
		return lang
	}
	if cookie, err := r.Cookie(Cookie); err == nil && Known(cookie.Value) {
		return cookie.Value
	}
	_, index := language.MatchStrings(matcher, r.Header.Get("Accept-Language"))
	return Languages()[index]
}
