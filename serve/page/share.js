"use strict";
(() => {
	const body = document.body, at = "/share/" + body.dataset.token, $ = (name) => document.getElementById(name);
	const items = $("items"), live = $("live"), net = $("net");
	let version = Number(body.dataset.version), source, heard = 0, waiting = 0;

	const say = (text) => { net.textContent = text; };
	const atEnd = () => innerHeight + scrollY >= document.documentElement.scrollHeight - 60;
	const follow = (was) => { if (was) scrollTo(0, document.documentElement.scrollHeight); };

	const texts = new Map();
	const write = (piece) => {
		const was = atEnd();
		let part = texts.get(piece.answer);
		if (!part) {
			if (!piece.text) return;
			part = document.createElement("p");
			texts.set(piece.answer, part);
			live.append(part);
		}
		if (piece.restart) part.textContent = "";
		part.append(piece.text.replace(/[\u200e\u200f\u202a-\u202e\u2066-\u2069]/g, "\ufffd")); // they reorder text
		if (piece.restart && !piece.text) { part.remove(); texts.delete(piece.answer); }
		follow(was);
	};

	const refresh = () => { if (!waiting) waiting = setTimeout(load, 150); };
	const load = async () => {
		waiting = 0;
		try {
			const res = await fetch(at + "/part?since=" + version);
			if (res.status === 429) { setTimeout(refresh, 2000); return; }
			if (!res.ok) { location.reload(); return; }
			const part = document.createElement("template");
			part.innerHTML = await res.text();
			const was = atEnd(), got = part.content.firstElementChild;
			version = Number(got.dataset.version);
			$("status").replaceWith(got.querySelector("#status"));
			for (const item of [...got.querySelector(".items").children]) {
				const old = $(item.id);
				if (!old) { items.append(item); continue; }
				const open = old.querySelector("details"), now = item.querySelector("details");
				if (open && now) now.open = open.open;
				old.replaceWith(item);
			}
			follow(was);
		} catch { say("not connected"); }
	};

	const connect = () => {
		if (document.hidden) return;
		if (source) source.close();
		heard = Date.now();
		source = new EventSource(at + "/events");
		const on = (name, f) => source.addEventListener(name, (e) => { heard = Date.now(); f(JSON.parse(e.data)); });
		on("state", (e) => { texts.clear(); live.replaceChildren(); e.texts.forEach(write); say("live"); if (e.version !== version) refresh(); });
		on("changed", refresh);
		on("text", write);
		on("reload", () => location.reload());
		on("ping", () => {});
		on("gone", (e) => { source.close(); source = null; heard = Infinity; if (e.reason === "shutdown") { say("the server has ended"); setTimeout(connect, 3000); } else location.reload(); });
		source.onerror = () => say("not connected");
	};
	setInterval(() => { if (!document.hidden && Date.now() - heard > 25000) connect(); }, 5000);
	document.addEventListener("visibilitychange", () => { if (document.hidden) { if (source) source.close(); } else connect(); });
	scrollTo(0, document.documentElement.scrollHeight);
	connect();
})();
