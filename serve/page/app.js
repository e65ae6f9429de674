"use strict";
(() => {
	const body = document.body, id = body.dataset.session, api = "/v1/sessions/" + encodeURIComponent(id);
	const $ = (name) => document.getElementById(name);
	const items = $("items"), live = $("live"), asks = $("asks"), net = $("net"), composer = $("composer");
	let last = Number(body.dataset.last), version = Number(body.dataset.version), source, heard = 0, waiting, loading = false, stale = false, drawn = asks.innerHTML;

	const say = (text) => { if (net) net.textContent = text; };
	const atEnd = () => innerHeight + scrollY >= document.documentElement.scrollHeight - 60;
	const follow = (was) => { if (was) scrollTo(0, document.documentElement.scrollHeight); };

	// Text of an answer is added as text, piece by piece.
	const parts = new Map();
	const write = (key, kind, text, restart) => {
		let part = parts.get(key + kind);
		if (!part) {
			part = document.createElement("p");
			if (kind === "thinking_delta") part.className = "think";
			parts.set(key + kind, part);
			live.append(part);
		}
		if (restart) part.textContent = "";
		part.append(text.replace(/[\u200e\u200f\u202a-\u202e\u2066-\u2069]/g, "\ufffd")); // they reorder text
	};
	const clear = () => { parts.clear(); live.replaceChildren(); };
	const signal = (e) => {
		const was = atEnd();
		if (e.type === "text_delta" || e.type === "thinking_delta") write(e.data.key, e.type, e.data.text, e.data.restart);
		else if (e.type === "permission_request" || e.type === "user_question" || e.type === "agent_event") refresh();
		follow(was);
	};

	// Everything else is drawn by the server: items that have changed take the place of the old ones.
	const refresh = () => {
		if (loading) { stale = true; return; }
		if (!waiting) waiting = setTimeout(load, 150);
	};
	const load = async () => {
		waiting = 0;
		loading = true;
		try {
			const res = await fetch("/s/" + encodeURIComponent(id) + "/part?since=" + version);
			if (!res.ok) { location.reload(); return; }
			const part = document.createElement("template");
			part.innerHTML = await res.text();
			show(part.content.firstElementChild);
		} catch { say("not connected"); }
		loading = false;
		if (stale) { stale = false; refresh(); }
	};
	// A click that was meant for what was there before answers no new question.
	const guard = () => {
		for (const button of asks.querySelectorAll("button")) {
			button.disabled = true;
			setTimeout(() => { button.disabled = false; }, 500);
		}
	};
	const show = (part) => {
		const was = atEnd();
		version = Number(part.dataset.version);
		$("status").replaceWith(part.querySelector("#status"));
		for (const item of [...part.querySelector(".items").children]) {
			const old = $(item.id);
			if (!old) { items.append(item); continue; }
			const open = old.querySelector("details"), now = item.querySelector("details");
			if (open && now) now.open = open.open;
			old.replaceWith(item);
		}
		const cards = part.querySelector(".asks");
		if (cards.innerHTML !== drawn && !(asks.contains(document.activeElement) && document.activeElement.value)) {
			drawn = cards.innerHTML;
			asks.replaceChildren(...cards.childNodes);
			guard();
		}
		const running = part.dataset.running === "true", title = document.title.replace(/^[●?] /, "");
		document.title = (asks.childElementCount ? "? " : running ? "● " : "") + title;
		const send = composer && composer.querySelector(".go");
		if (send && (send.value === "steer") !== running && !composer.text.value) location.reload();
		follow(was);
	};

	const connect = () => {
		if (document.hidden) return;
		if (source) source.close();
		heard = Date.now();
		source = new EventSource(api + "/events?after=" + last);
		const on = (name, f) => source.addEventListener(name, (e) => { heard = Date.now(); f(JSON.parse(e.data)); });
		on("fact", (e) => {
			if (e.seq <= last) return;
			last = e.seq;
			if (e.type === "rewound") { location.reload(); return; }
			if (e.type === "assistant_message" || e.type === "model_failed" || e.type === "run_end") clear();
			refresh();
		});
		on("signal", signal);
		on("state", (e) => { clear(); e.signals.forEach(signal); say("connected"); refresh(); });
		on("ping", (e) => { if (e.seq > last) connect(); });
		on("gone", (e) => { say(e.reason); source.close(); if (e.reason === "shutdown") setTimeout(connect, 3000); });
		source.onerror = () => say("not connected");
	};
	setInterval(() => { if (!document.hidden && Date.now() - heard > 25000) connect(); }, 5000);
	document.addEventListener("visibilitychange", () => { if (document.hidden) { if (source) source.close(); } else connect(); });

	if (composer) {
		const draft = "draft " + id, text = composer.text;
		text.value = text.value || sessionStorage.getItem(draft) || "";
		text.addEventListener("input", () => sessionStorage.setItem(draft, text.value));
		text.addEventListener("keydown", (e) => { if (e.key === "Enter" && e.ctrlKey) composer.requestSubmit(composer.querySelector(".go")); });
		composer.addEventListener("submit", () => sessionStorage.removeItem(draft));
	}
	document.addEventListener("keydown", (e) => {
		if (/^(INPUT|TEXTAREA)$/.test(e.target.tagName) || e.ctrlKey || e.metaKey || e.altKey) return;
		const all = [...items.querySelectorAll("summary")], now = all.indexOf(document.activeElement);
		if (e.key === "j" && now < all.length - 1) all[now + 1].focus();
		else if (e.key === "k" && now > 0) all[now - 1].focus();
		else if (e.key === "a" && asks.querySelector("button")) asks.querySelector("button").focus();
		else return;
		e.preventDefault();
	});
	scrollTo(0, document.documentElement.scrollHeight);
	guard();
	connect();
})();
