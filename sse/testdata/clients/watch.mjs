// What a page and a Node program do alike with an EventSource.

// follow opens a stream and tells what it dispatches.
export function follow(EventSource, url, names, tell) {
	const source = new EventSource(url);
	source.addEventListener("open", () => tell({ what: "open" }));
	source.addEventListener("error", () => tell({ what: "error", state: source.readyState }));
	for (const name of names) {
		source.addEventListener(name, (e) => tell({ what: "event", name: e.type, data: e.data, lastID: e.lastEventId }));
	}
	return source;
}

// read reads streams that end, one after the other, each to its first end.
export async function read(EventSource, urls, names) {
	const all = [];
	for (const url of urls) {
		all.push(await new Promise((done) => {
			const events = [];
			const source = follow(EventSource, url, names, (report) => {
				if (report.what === "event") {
					events.push(report);
				} else if (report.what === "error") {
					source.close();
					done(events);
				}
			});
		}));
	}
	return all;
}
