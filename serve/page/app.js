"use strict";
(() => {
	const body = document.body, id = body.dataset.session, path = "/s/" + encodeURIComponent(id);
	const $ = (name) => document.getElementById(name);
	const main = $("main"), items = $("items"), live = $("live"), asks = $("asks"), said = $("said"), net = $("net"), news = $("news"), composer = $("composer");
	const title = document.title;
	let last = Number(body.dataset.last), version = Number(body.dataset.version), earlier = Number(body.dataset.earlier);
	let source, heard = 0, waiting, loading = false, stale = false, fresh = 0, running = "since" in $("status").dataset;

	const say = (text) => { if (net) net.textContent = text; };
	const box = () => getComputedStyle(main).overflowY === "auto" ? main : document.scrollingElement;
	// The end is where the question cards end: below it, on a phone, is more about the session.
	const atEnd = () => main === box() ? main.scrollHeight - main.scrollTop - main.clientHeight < 60 : main.getBoundingClientRect().bottom < innerHeight + 60;
	const toEnd = () => { if (main === box()) main.scrollTop = main.scrollHeight; else news.parentElement.scrollIntoView({ block: "end" }); seen(); };
	const seen = () => { fresh = 0; news.hidden = true; };
	const follow = (was, added) => {
		if (was) { toEnd(); return; }
		fresh += added;
		if (fresh) { news.textContent = "↓ " + fresh + " new"; news.hidden = false; }
	};
	news.addEventListener("click", toEnd);
	document.addEventListener("scroll", () => { if (fresh && atEnd()) seen(); }, true);

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
		part.append(text.replace(/[\u200b\u200e\u200f\u202a-\u202e\u2060\u2066-\u2069\ufeff]/g, "\ufffd")); // nobody sees them, or they reorder text
	};
	const clear = () => { parts.clear(); live.replaceChildren(); };
	const signal = (e) => {
		const was = atEnd(), d = e.data;
		if (e.type === "text_delta" || e.type === "thinking_delta") write(d.key, e.type, d.text, d.restart);
		else if (e.type === "tool_progress" && d.call) progress(d);
		else if (e.type === "permission_request" || e.type === "user_question" || e.type === "agent_event") refresh();
		follow(was, 0);
	};
	const progress = (d) => {
		const line = $(d.call) && $(d.call).querySelector("summary");
		if (!line || d.phase !== "doing") return;
		let at = line.querySelector("i");
		if (!at) { at = document.createElement("i"); line.append(at); }
		at.textContent = [d.status && d.status.text, Math.round((d.elapsed || 0) / 1e9) + " s"].filter(Boolean).join(" · ").slice(-80);
	};

	// Everything else is drawn by the server: elements that have changed take the place of the old ones.
	const refresh = () => {
		if (loading) { stale = true; return; }
		if (!waiting) waiting = setTimeout(load, 150);
	};
	const fetchPart = async (query) => {
		const res = await fetch(path + "/part?" + query);
		if (res.status === 429) { setTimeout(refresh, 2000); return null; }
		if (!res.ok) { location.reload(); return null; }
		const part = document.createElement("template");
		part.innerHTML = await res.text();
		return part.content.firstElementChild;
	};
	const cards = () => [...asks.querySelectorAll(".ask")];
	const load = async () => {
		waiting = 0;
		loading = true;
		try {
			const part = await fetchPart("since=" + version + "&open=" + cards().map((c) => encodeURIComponent(c.dataset.call)).join(","));
			if (part) show(part);
		} catch { say("not connected"); }
		loading = false;
		if (stale) { stale = false; refresh(); }
	};
	// A click that was meant for what was there before answers no new question.
	const guard = (card) => {
		for (const button of card.querySelectorAll("button")) {
			button.disabled = true;
			setTimeout(() => { button.disabled = false; }, 500);
		}
	};
	const swap = (name, part) => {
		const old = $(name), now = part.querySelector("#" + name);
		if (!old || !now || old.innerHTML === now.innerHTML && old.className === now.className) return;
		if (name === "mode" && old.contains(document.activeElement)) return;
		const focused = old.contains(document.activeElement);
		if (name === "left" || name === "right") old.replaceChildren(...now.childNodes);
		else old.replaceWith(now);
		if (focused && name === "buttons" && $(name).querySelector(".go")) $(name).querySelector(".go").focus();
	};
	const turn = (item) => {
		const old = $(item.id);
		if (!old) { items.append(item); return 1; }
		for (const open of old.querySelectorAll("details[id]")) {
			const now = item.querySelector("#" + CSS.escape(open.id));
			if (now) now.open = open.open;
		}
		const focused = old.contains(document.activeElement) && document.activeElement.closest("[id]").id;
		old.replaceWith(item);
		if (focused && $(focused)) ($(focused).querySelector("summary") || $(focused)).focus({ preventScroll: true });
		return 0;
	};
	const questions = (part) => {
		const now = [...part.querySelectorAll(".asks .ask")];
		for (const card of cards()) {
			if (now.some((c) => c.dataset.call === card.dataset.call)) continue;
			const focused = card.contains(document.activeElement);
			const line = document.createElement("p"), closed = [...part.querySelectorAll(".closed p")].find((p) => p.dataset.call === card.dataset.call);
			line.textContent = card.querySelector("h2").firstChild.textContent.trim() + ": " + (closed ? closed.textContent : "not asked any more");
			said.replaceChildren(line);
			setTimeout(() => line.remove(), 20000);
			card.remove();
			if (focused) main.focus({ preventScroll: true });
		}
		for (const card of now) {
			const old = cards().find((c) => c.dataset.call === card.dataset.call);
			if (!old) { guard(card); asks.append(card); continue; }
			if (old.dataset.drawn === card.innerHTML) continue;
			if (old.dataset.drawn !== undefined || old.innerHTML !== card.innerHTML) {
				const typed = [...old.querySelectorAll("input")].some((i) => i.type === "text" ? i.value : i.checked);
				if (typed || old.querySelector("button:disabled")) continue;
				const drawn = card.innerHTML;
				guard(card);
				old.replaceWith(card);
				card.dataset.drawn = drawn;
			}
		}
	};
	const show = (part) => {
		const was = atEnd(), seen = cards().map((c) => c.dataset.call), ran = running;
		let added = 0;
		running = part.dataset.running === "true";
		version = Number(part.dataset.version);
		for (const item of [...part.querySelector(".items").children]) added += turn(item);
		for (const name of ["status", "mode", "cost", "left", "right", "buttons", "queue"]) swap(name, part);
		questions(part);
		if (composer) composer.text.placeholder = running ? "Steer: the agent reads it after its current step" : "Message; ctrl+enter sends it";
		document.title = (asks.childElementCount ? "? " : running ? "● " : "") + title;
		if (cards().some((c) => !seen.includes(c.dataset.call))) notify("A question waits for you.");
		else if (ran && !running) notify("The run has ended.");
		clock();
		follow(was, added);
	};

	// Notifications come only after the person has asked for them, and only for a page that nobody sees. It
	// has no stream then, because a browser has few connections: it asks now and then.
	const bell = $("notify"), bells = () => localStorage.getItem("notify") === "on" && Notification.permission === "granted";
	const ring = () => { bell.hidden = false; bell.setAttribute("aria-pressed", bells()); };
	const notify = (text) => {
		if (!document.hidden || bell.hidden || !bells()) return;
		try {
			const note = new Notification(title, { body: text, tag: id, renotify: true });
			note.onclick = () => { window.focus(); note.close(); };
		} catch { say("this browser shows no notifications of pages"); }
	};
	if ("Notification" in window && isSecureContext) {
		ring();
		bell.addEventListener("click", async () => {
			const off = bells();
			if (!off && await Notification.requestPermission() !== "granted") { say("your browser blocks notifications of this page"); return; }
			localStorage.setItem("notify", off ? "off" : "on");
			ring();
		});
		addEventListener("storage", ring);
		setInterval(() => { if (document.hidden && bells()) refresh(); }, 10000);
	}

	const older = async () => {
		const line = $("more");
		if (!line || !earlier || loading) return false;
		loading = true;
		try {
			const part = await fetchPart("before=" + earlier), at = box(), from = at.scrollHeight - at.scrollTop;
			if (part) {
				earlier = Number(part.dataset.earlier);
				items.prepend(...part.querySelector(".items").childNodes);
				if (earlier) line.firstChild.textContent = "↑ " + earlier + " earlier items · ";
				else line.remove();
				at.scrollTop = at.scrollHeight - from;
			}
		} catch { say("not connected"); }
		loading = false;
		if (stale) { stale = false; refresh(); }
		return true;
	};
	if ($("more")) $("more").querySelector("a").addEventListener("click", (e) => { e.preventDefault(); older(); });
	const jump = async (name) => {
		while (!$(name) && await older());
		const found = $(name);
		if (!found) return;
		for (let up = found; up; up = up.parentElement) if (up.tagName === "DETAILS") up.open = true;
		found.scrollIntoView({ block: "center" });
		(found.querySelector("summary") || found).focus({ preventScroll: true });
	};
	document.addEventListener("click", (e) => {
		const link = e.target.closest("a"), hash = link && (link.getAttribute("href") || link.getAttribute("xlink:href") || "");
		if (!hash || !/^(\?all=1)?#/.test(hash)) return;
		e.preventDefault();
		jump(decodeURIComponent(hash.slice(hash.indexOf("#") + 1)));
	});

	const connect = () => {
		if (document.hidden) return;
		if (source) source.close();
		heard = Date.now();
		source = new EventSource("/v1/sessions/" + encodeURIComponent(id) + "/events?after=" + last);
		const on = (name, f) => source.addEventListener(name, (e) => { heard = Date.now(); f(JSON.parse(e.data)); });
		on("fact", (e) => {
			if (e.seq <= last) return;
			last = e.seq;
			if (e.type === "rewound") { location.reload(); return; }
			if (e.type === "assistant_message" || e.type === "model_failed" || e.type === "run_end") clear();
			say("connected · fact " + last);
			refresh();
		});
		on("signal", signal);
		on("state", (e) => { clear(); e.signals.forEach(signal); say("connected · fact " + last); refresh(); });
		on("ping", (e) => { if (e.seq > last) connect(); });
		on("gone", (e) => { say(e.reason); source.close(); if (e.reason === "shutdown") setTimeout(connect, 3000); });
		source.onerror = () => { say("not connected"); if (source.readyState === 2) setTimeout(connect, 3000); };
	};
	setInterval(() => { if (!document.hidden && Date.now() - heard > 25000) connect(); }, 5000);
	document.addEventListener("visibilitychange", () => { if (document.hidden) { if (source) source.close(); } else { cards().forEach(guard); connect(); } });

	const clock = () => {
		const at = $("status"), since = at && Date.parse(at.dataset.since);
		if (!since) return;
		const s = Math.max(0, Math.round((Date.now() - since) / 1000));
		at.lastElementChild.textContent = (s >= 3600 ? Math.floor(s / 3600) + ":" + String(Math.floor(s / 60) % 60).padStart(2, "0") : Math.floor(s / 60)) + ":" + String(s % 60).padStart(2, "0");
	};
	setInterval(() => { if (!document.hidden) clock(); }, 1000);

	// Forms are sent without leaving the page.
	const draft = "draft " + id;
	document.addEventListener("submit", async (e) => {
		const form = e.target, by = e.submitter;
		if (form.method !== "post" || e.defaultPrevented) return;
		e.preventDefault();
		const data = new URLSearchParams(new FormData(form));
		if (by && by.name) data.set(by.name, by.value);
		const stop = by && by.hasAttribute("formaction");
		if (form === composer && !stop && !data.get("text").trim()) return;
		if (by) by.disabled = true;
		try {
			const res = await fetch(stop ? by.formAction : form.action, { method: "POST", body: data, redirect: "manual" });
			if (res.type === "opaqueredirect") {
				if (form === composer && !stop) { form.text.value = ""; sessionStorage.removeItem(draft); grow(); toEnd(); }
				if (form.closest(".ask")) main.focus({ preventScroll: true });
			} else {
				const page = document.createElement("template");
				page.innerHTML = await res.text();
				const line = page.content.querySelector("main p");
				say(line ? line.textContent : "not sent: " + res.status);
			}
			refresh();
		} catch { say("not connected: not sent"); }
		if (by) by.disabled = false;
	});
	const grow = () => { if (composer) { composer.text.style.height = ""; composer.text.rows = Math.min(8, composer.text.value.split("\n").length); } };
	if (composer) {
		const text = composer.text;
		text.value = text.value || sessionStorage.getItem(draft) || "";
		text.addEventListener("input", () => { sessionStorage.setItem(draft, text.value); grow(); });
		text.addEventListener("keydown", (e) => { if (e.key === "Enter" && (e.ctrlKey || e.metaKey)) composer.requestSubmit(composer.querySelector(".go")); });
		grow();
	}
	// The search goes from match to match, and loads older items as it needs them.
	const find = $("find");
	let found = -1;
	const search = async () => {
		const words = find.value.trim().toLowerCase();
		if (!words) return;
		for (;;) {
			const all = [...items.children], match = all.findIndex((item, i) => i > found && item.textContent.toLowerCase().includes(words));
			if (match >= 0) {
				found = match;
				for (const fold of all[match].querySelectorAll("details")) if (fold.textContent.toLowerCase().includes(words)) fold.open = true;
				all[match].scrollIntoView({ block: "start" });
				say("found in item " + (match + 1) + " of " + all.length);
				return;
			}
			if (found >= 0) { found = -1; continue; }
			if (!await older()) { say("not found"); return; }
		}
	};
	find.hidden = false;
	find.addEventListener("input", () => { found = -1; });
	find.addEventListener("keydown", (e) => { if (e.key === "Enter") search(); });
	document.addEventListener("change", (e) => { if (e.target.form && e.target.form.id === "mode") e.target.form.requestSubmit(); });
	document.addEventListener("keydown", (e) => {
		if (/^(INPUT|TEXTAREA|SELECT)$/.test(e.target.tagName)) {
			if (e.key === "Escape") main.focus();
			return;
		}
		if (e.ctrlKey || e.metaKey || e.altKey) return;
		const all = [...items.querySelectorAll("summary")].filter((s) => s.offsetParent), now = all.indexOf(document.activeElement);
		if (e.key === "j" && now < all.length - 1) all[now + 1].focus();
		else if (e.key === "k" && all.length && now !== 0) all[now < 0 ? all.length - 1 : now - 1].focus();
		else if (e.key === "o" && now >= 0) all[now].parentElement.open = !all[now].parentElement.open;
		else if (e.key === "a" && asks.querySelector("button")) asks.querySelector("button").focus();
		else if (e.key === "/" && find.offsetParent) find.focus();
		else return;
		e.preventDefault();
	});
	toEnd();
	if (location.hash) jump(decodeURIComponent(location.hash.slice(1)));
	for (const card of cards()) guard(card);
	clock();
	connect();
})();
