// The session functions of the SDK, on the files of an exported session.
import assert from 'node:assert/strict'
import { pathToFileURL } from 'node:url'

const sdk = await import(pathToFileURL(process.env.CLAUDE_SDK))
const dir = process.cwd(), id = process.argv[2]

const all = await sdk.listSessions({ dir })
assert.equal(all.length, 1, JSON.stringify(all))
assert.equal(all[0].sessionId, id)
assert.equal(all[0].customTitle, 'Two files')
assert.equal(all[0].summary, 'Two files')
assert.equal(all[0].firstPrompt, 'look at both')
assert.equal(all[0].cwd, dir)
assert.ok(all[0].createdAt > 0)
assert.equal((await sdk.listSessions()).length, 1)

const messages = await sdk.getSessionMessages(id, { dir })
const kinds = messages.map(m => m.type + ' ' + (typeof m.message.content === 'string' ? 'string' : m.message.content.map(b => b.type).join()))
assert.deepEqual(kinds, ['user string', 'assistant thinking', 'assistant text', 'assistant tool_use', 'assistant tool_use', 'user tool_result', 'user tool_result', 'assistant tool_use', 'user tool_result', 'assistant text',
  'user string', 'assistant text'], JSON.stringify(messages, null, 1))
assert.equal(messages[0].message.content, 'look at both')
assert.equal(messages[1].message.content[0].thinking, 'I look')
assert.ok(messages[1].message.content[0].signature)
const result = id => messages.flatMap(m => m.message.content).find(b => b.tool_use_id === id)
assert.ok(JSON.stringify(result('b1').content).includes('hello'))
assert.equal(result('b1').is_error, false)
assert.equal(result('b2').is_error, true)
assert.equal(messages[9].message.content[0].text, 'all is done, ***')
assert.ok(messages.every(m => m.session_id === id && m.parent_tool_use_id === null))

const agents = await sdk.listSubagents(id, { dir })
assert.equal(agents.length, 1)
const said = await sdk.getSubagentMessages(id, agents[0], { dir })
assert.deepEqual(said.map(m => m.type), ['user', 'assistant'])
assert.equal(said[1].message.content[0].text, 'the agent is done')
assert.equal(said[0].parent_tool_use_id, 'a1')
assert.equal(said[0].parent_agent_id, null)

await sdk.renameSession(id, 'Renamed', { dir })
await sdk.tagSession(id, 'checked', { dir })
const info = await sdk.getSessionInfo(id, { dir })
assert.equal(info.customTitle, 'Renamed')
assert.equal(info.tag, 'checked')

const fork = await sdk.forkSession(id, { dir, upToMessageId: messages[9].uuid, title: 'Forked' })
const forked = await sdk.getSessionMessages(fork.sessionId, { dir })
assert.equal(forked.length, 10)
assert.equal((await sdk.getSessionInfo(fork.sessionId, { dir })).customTitle, 'Forked')
