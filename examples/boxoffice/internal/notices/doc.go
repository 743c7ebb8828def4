// Package notices turns notifications into sentences in the language of their reader.
//
//	p := events.NoticeParams{Member: "mina", Show: "Moonlight Parade"}
//	notices.Text("en", notices.PostLike, p, "") // mina likes Moonlight Parade
//	notices.Text("ko", notices.PostLike, p, "") // mina 님이 Moonlight Parade 공연을 좋아해요
//
// A notification is stored as a type and parameters. The API calls Text for each
// reader. The pages do the same in the browser (notices.js) with the same texts, so
// that live notifications are in the language of the page.
//
// # Texts
//
// The texts are in the locales of package site, under notice.text.TYPE. A type that
// has outcomes has a text for each: notice.text.TYPE.OUTCOME.REASON, or
// notice.text.TYPE.OUTCOME for a reason without a text of its own. A text about seats
// or songs has the forms .one and .other. A new type needs its texts, and the
// parameters that these name in events.NoticeParams; no code.
//
// Where no text fits, or a parameter that the text names is missing, the reader gets
// the message that was stored, which is in English, and without a message a sentence
// that says only that there is news. Notifications that were stored before there were
// parameters are read that way.
//
// Names and titles come from people: control characters and characters that turn the
// direction of text become spaces, and placeholders in them are not replaced. A
// sentence is plain text. Pages escape it like any other text.
//
// A Korean particle depends on the last sound of the word before it, which a template
// cannot know. No Korean text has a particle behind a placeholder: a fixed word stands
// between them ("{member} 님이", "{show} 공연을").
//
//	property                                                    proven by
//	every type, outcome and reason has its sentence             TestTexts
//	any type and parameters make a sentence, in every language:
//	not empty, on one line, no placeholder left, no direction
//	turned                                                      TestAnyParams, FuzzText
//	notifications without parameters have their message         TestWithoutParams
//	no Korean particle follows a placeholder                    TestNoParticleBehindPlaceholders
//	the pages say the same                                      TestPagesNoticeTexts (package browsertest)
package notices
