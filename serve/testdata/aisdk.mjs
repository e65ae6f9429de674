// Uses the server with useChat's parts of the AI SDK: node aisdk.mjs AI REACT ADDRESS TOKEN. Each
// line of the output is a result.
const [ai, react, address, token] = process.argv.slice(2);
const { DefaultChatTransport, lastAssistantMessageIsCompleteWithApprovalResponses } = await import(ai);
const { Chat } = await import(react);
const show = (name, value) => console.log(JSON.stringify({ name, value }));
const transport = () => new DefaultChatTransport({ api: address + "/ai-sdk/chat", headers: { Authorization: "Bearer " + token } });
const idle = async (chat) => {
	while (chat.status === "submitted" || chat.status === "streaming") await new Promise((r) => setTimeout(r, 5));
};
const parts = (m) => m.parts.filter((p) => p.type !== "step-start").map((p) => (p.type === "dynamic-tool" ? [p.toolName, p.state, p.output ?? p.errorText ?? null] : [p.type, p.text ?? p.data ?? null]));

let n = 0;
const chat = new Chat({ id: "chat", transport: transport(), generateId: () => "m" + ++n, sendAutomaticallyWhen: lastAssistantMessageIsCompleteWithApprovalResponses, onError: () => {} });
await chat.sendMessage({ text: "look", files: [{ type: "file", mediaType: "image/png", url: "data:image/png;base64,iVBORw0KGgo=" }] });
show("first", parts(chat.lastMessage));
show("metadata", [chat.lastMessage.metadata.reason, chat.lastMessage.metadata.usage.output > 0]);

await chat.regenerate();
show("regenerated", [chat.messages.length, ...parts(chat.lastMessage)]);

await chat.sendMessage({ text: "write" });
show("asked", parts(chat.lastMessage));
const answer = async (approved) => {
	const part = chat.lastMessage.parts.find((p) => p.state === "approval-requested");
	await chat.addToolApprovalResponse({ id: part.approval.id, approved, reason: "because" });
	await new Promise((r) => setTimeout(r, 20));
	await idle(chat);
};
await answer(true);
show("allowed", [chat.messages.length, ...parts(chat.lastMessage)]);
await chat.sendMessage({ text: "write again" });
await answer(false);
show("denied", parts(chat.lastMessage));

await chat.sendMessage({ text: "fail" });
show("failed", [chat.status, chat.error.message]);

const other = new Chat({ id: "slow", transport: transport(), generateId: () => "s" + ++n, onError: () => {} });
const going = other.sendMessage({ text: "slowly" });
while (!other.lastMessage?.parts.some((p) => p.type === "text" && p.text === "so ")) await new Promise((r) => setTimeout(r, 5));
await other.stop();
await going;
const back = new Chat({ id: "slow", transport: transport(), messages: other.messages.slice(0, 1) });
const resumed = back.resumeStream();
while (!back.lastMessage?.parts.some((p) => p.type === "text" && p.text === "so ")) await new Promise((r) => setTimeout(r, 5));
await fetch(address + "/v1/sessions/slow/interrupt", { method: "POST", headers: { Authorization: "Bearer " + token } });
await resumed;
show("resumed", parts(back.lastMessage));
await back.resumeStream();
show("nothing", back.status);

const stranger = new Chat({ id: "x", transport: new DefaultChatTransport({ api: address + "/ai-sdk/chat" }), onError: () => {} });
await stranger.sendMessage({ text: "hi" });
show("stranger", [stranger.status, stranger.error.message]);
