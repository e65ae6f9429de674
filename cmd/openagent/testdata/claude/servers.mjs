// MCP servers within the host, questions about permission, and other servers.
import { existsSync } from 'node:fs'
import { ask, assert, input, scenario, sdk, succeeded, z } from './harness.mjs'

const add = sdk.tool('add', 'adds numbers', { a: z.number(), b: z.number() }, async ({ a, b }) => ({ content: [{ type: 'text', text: `sum ${a + b}` }] }))
const maths = () => sdk.createSdkMcpServer({ name: 'maths', version: '1.2.3', tools: [add, sdk.tool('fail', 'fails', {}, async () => { throw new Error('no maths today') })] })
const call = (name, input = {}, id = 'm1') => ({ calls: [{ id, name, input }] })
const write = [call('Write', { file_path: 'out.txt', content: 'x' }, 'w1'), { text: 'done' }]
const free = { permissionMode: 'bypassPermissions', allowDangerouslySkipPermissions: true }

scenario('host server', { steps: [call('mcp__maths__add', { a: 2, b: 3 }), { text: 'done' }], asked: ['sum 5'] }, async () => {
  let status
  const r = await ask('add', { mcpServers: { maths: maths() }, allowedTools: ['mcp__maths__add'] }, async (m, q) => {
    if (m.subtype === 'init') status = await q.mcpServerStatus()
  })
  succeeded(r, 'done')
  assert.ok(r.init.tools.includes('mcp__maths__add'), r.init.tools.join())
  assert.equal(r.init.mcp_servers.find(s => s.name === 'maths').status, 'connected')
  const user = r.of('user').find(m => m.message.content[0].tool_use_id === 'm1')
  assert.equal(user.tool_use_result[0].text, 'sum 5')
  const s = status.find(s => s.name === 'maths')
  assert.equal(s.status, 'connected')
  assert.deepEqual(s.serverInfo, { name: 'maths', version: '1.2.3' })
  assert.ok(s.tools.some(t => t.name === 'add'), JSON.stringify(s))
})
scenario('host server by rule', { steps: [call('mcp__maths__add', { a: 2, b: 3 }), { text: 'done' }], asked: ['sum 5'] }, async () => {
  succeeded(await ask('add', { mcpServers: { maths: maths() }, allowedTools: ['mcp__maths'] }), 'done')
})
scenario('host server denied', { steps: [call('mcp__maths__add', { a: 2, b: 3 }), { text: 'done' }], not: ['sum 5'] }, async () => {
  const r = await ask('add', { mcpServers: { maths: maths() } })
  succeeded(r, 'done')
  assert.equal(r.result.permission_denials[0].tool_name, 'mcp__maths__add')
})
scenario('host server fails', { steps: [call('mcp__maths__fail'), { text: 'done' }], asked: ['no maths today'] }, async () => {
  succeeded(await ask('add', { mcpServers: { maths: maths() }, ...free }), 'done')
})
const silent = () => sdk.createSdkMcpServer({ name: 'silent', tools: [sdk.tool('wait', 'waits', {}, () => new Promise(() => {}))] })
scenario('host server never answers', { steps: [call('mcp__silent__wait'), { text: 'done' }], asked: ['cancelled'] }, async () => {
  succeeded(await ask('wait', { mcpServers: { silent: silent() }, ...free, env: { ...process.env, MCP_TOOL_TIMEOUT: '300' } }), 'done')
})
scenario('server set later never answers', { steps: [{ text: 'one' }, call('mcp__silent__wait'), { text: 'two' }], asked: ['cancelled'] }, async () => {
  const p = input('hi')
  let change
  const r = await ask(p.stream, { ...free, env: { ...process.env, MCP_TOOL_TIMEOUT: '300' } }, async (m, q) => {
    if (m.type !== 'result') return
    if (change) return p.end()
    change = await q.setMcpServers({ silent: silent() })
    p.send('again')
  })
  succeeded(r, 'two')
})
scenario('servers set later', { steps: [{ text: 'one' }, call('mcp__maths__add', { a: 2, b: 3 }), { text: 'two' }], asked: ['sum 5'] }, async () => {
  const p = input('hi')
  let change
  const r = await ask(p.stream, { ...free }, async (m, q) => {
    if (m.type !== 'result') return
    if (change) return p.end()
    change = await q.setMcpServers({ maths: maths() })
    p.send('again')
  })
  succeeded(r, 'two')
  assert.deepEqual(change.added, ['maths'])
})

scenario('permission allowed', { steps: write }, async () => {
  let seen
  const r = await ask('write', { canUseTool: async (name, input, o) => { seen = [name, input, o]; return { behavior: 'allow', updatedInput: input } } })
  succeeded(r, 'done')
  assert.ok(existsSync('out.txt'))
  assert.equal(seen[0], 'Write')
  assert.equal(seen[2].toolUseID, 'w1')
  assert.ok(Array.isArray(seen[2].suggestions))
  assert.deepEqual([seen[2].displayName, seen[2].agentID, seen[2].blockedPath], ['Write', undefined, undefined])
})
scenario('permission denied', { steps: write, asked: ['leave it'] }, async () => {
  const r = await ask('write', { canUseTool: async () => ({ behavior: 'deny', message: 'leave it' }) })
  succeeded(r, 'done')
  assert.equal(existsSync('out.txt'), false)
  assert.equal(r.of('system', 'permission_denied').length, 0)
})
scenario('permission denied and stopped', { steps: [write[0], { text: 'late', delay: '2s' }], requests: 1 }, async () => {
  const r = await ask('write', { canUseTool: async () => ({ behavior: 'deny', message: 'stop', interrupt: true }) })
  assert.equal(r.result.subtype, 'error_during_execution')
  assert.ok(r.result.is_error)
})
scenario('permission of an agent denied and stopped', { steps: [call('Agent', { subagent_type: 'general-purpose', description: 'd', prompt: 'p' }, 'a1'), ...write], requests: 2 }, async () => {
  const r = await ask('write', { canUseTool: async name => name === 'Write' ? { behavior: 'deny', message: 'stop', interrupt: true } : { behavior: 'allow', updatedInput: {} } })
  assert.equal(r.result.subtype, 'error_during_execution')
})
scenario('permission throws', { steps: write }, async () => {
  const r = await ask('write', { canUseTool: async () => { throw new Error('broken') } })
  succeeded(r, 'done')
  assert.equal(existsSync('out.txt'), false)
})
scenario('permission rule for the session', { steps: [call('Write', { file_path: 'a.txt', content: 'x' }, 'w1'), call('Write', { file_path: 'b.txt', content: 'x' }, 'w2'), { text: 'done' }] }, async () => {
  let n = 0
  const r = await ask('write', { canUseTool: async (name, input) => { n++; return { behavior: 'allow', updatedInput: input, updatedPermissions: [{ type: 'setMode', mode: 'acceptEdits', destination: 'session' }] } } })
  succeeded(r, 'done')
  assert.equal(n, 1)
  assert.ok(existsSync('b.txt'))
})
const updating = (...updates) => {
  const seen = []
  const canUseTool = async (name, input) => {
    seen.push(input.file_path)
    return { behavior: 'allow', updatedInput: input, updatedPermissions: seen.length === 1 ? updates : [] }
  }
  return { seen, canUseTool }
}
const update = (type, behavior, ...rules) => ({ type, behavior, rules: rules.map(toolName => ({ toolName })), destination: 'session' })
const twice = [call('Write', { file_path: 'a.txt', content: 'x' }, 'w1'), call('Write', { file_path: 'b.txt', content: 'x' }, 'w2'), { text: 'done' }]
const rule = (type, behavior, ruleContent) => ({ ...update(type, behavior), rules: [{ toolName: 'Write', ruleContent }] })
scenario('deny rule for the session', { steps: twice }, async () => {
  const host = updating({ type: 'setMode', mode: 'acceptEdits', destination: 'session' }, rule('addRules', 'deny', 'b.txt'))
  const r = await ask('write', { canUseTool: host.canUseTool })
  succeeded(r, 'done')
  assert.ok(existsSync('a.txt'))
  assert.equal(existsSync('b.txt'), false)
})
scenario('deny rule for the call itself', { steps: write }, async () => {
  const host = updating(update('addRules', 'deny', 'Write'))
  succeeded(await ask('write', { canUseTool: host.canUseTool }), 'done')
  assert.equal(existsSync('out.txt'), false)
})
scenario('deny rule that cannot be read', { steps: write }, async () => {
  const host = updating(rule('addRules', 'deny', 'b.txt'), { ...update('addRules', 'deny'), rules: [{ toolName: '' }] })
  await ask('write', { canUseTool: host.canUseTool })
  assert.equal(existsSync('out.txt'), false)
})
scenario('ask rule for the session', { steps: twice }, async () => {
  const host = updating({ type: 'setMode', mode: 'acceptEdits', destination: 'session' }, rule('addRules', 'ask', 'b.txt'))
  succeeded(await ask('write', { canUseTool: host.canUseTool }), 'done')
  assert.equal(host.seen.length, 2)
})
scenario('rules replaced for the session', { steps: twice }, async () => {
  const host = updating(update('addRules', 'allow', 'Write'), update('replaceRules', 'allow', 'Read'), update('addRules', 'deny', 'Write'), update('replaceRules', 'deny', 'Bash'))
  succeeded(await ask('write', { canUseTool: host.canUseTool }), 'done')
  assert.equal(host.seen.length, 2)
  assert.ok(existsSync('b.txt'))
})
scenario('rules removed for the session', { steps: twice }, async () => {
  const host = updating(update('addRules', 'allow', 'Write'), update('removeRules', 'allow', 'Write', 'Read'), update('addRules', 'deny', 'Write'), update('removeRules', 'deny', 'Write', 'WebFetch'))
  const r = await ask('write', { canUseTool: host.canUseTool, disallowedTools: ['WebFetch'] })
  succeeded(r, 'done')
  assert.equal(host.seen.length, 2)
  assert.ok(existsSync('b.txt'))
  assert.match(r.stderr, /cannot remove Read: only rules that answers have added/)
  assert.match(r.stderr, /cannot remove WebFetch: the rule is in the settings or flags/)
})
scenario('update of permissions that has no effect', { steps: write }, async () => {
  const host = updating({ type: 'addDirectories', directories: ['/x'], destination: 'session' })
  const r = await ask('write', { canUseTool: host.canUseTool })
  succeeded(r, 'done')
  assert.match(r.stderr, /update of permissions "addDirectories" \(""\) in an answer has no effect/)
})
scenario('permissions asked of nobody', { steps: write }, async () => {
  let n = 0
  const r = await ask('write', { permissionPrompts: 'none', canUseTool: async (name, input) => { n++; return { behavior: 'allow', updatedInput: input } } })
  succeeded(r, 'done')
  assert.equal(n, 0)
  assert.equal(existsSync('out.txt'), false)
})
scenario('question to the user', { steps: [call('AskUserQuestion', { questions: [{ question: 'Which colour?', header: 'Colour', options: [{ label: 'Red', description: 'r' }, { label: 'Blue', description: 'b' }], multiSelect: false }] }, 'q1'), { text: 'done' }], asked: ['Blue'] }, async () => {
  let seen
  const r = await ask('ask me', { canUseTool: async (name, input) => { seen = [name, input]; return { behavior: 'allow', updatedInput: { ...input, answers: { 'Which colour?': 'Blue' } } } } })
  succeeded(r, 'done')
  assert.equal(seen[0], 'AskUserQuestion')
  assert.equal(seen[1].questions[0].question, 'Which colour?')
  assert.ok(r.init.tools.includes('AskUserQuestion'), r.init.tools.join())
})
scenario('plan', { steps: [call('ExitPlanMode', { plan: '1. Write out.txt' }, 'p1'), ...write] }, async () => {
  const seen = []
  const r = await ask('plan', { permissionMode: 'plan', canUseTool: async (name, input) => { seen.push(name); return { behavior: 'allow', updatedInput: input } } })
  succeeded(r, 'done')
  assert.equal(seen[0], 'ExitPlanMode')
  assert.ok(existsSync('out.txt'))
})
scenario('permission tool of a server', { steps: write }, async () => {
  let got
  const gate = sdk.createSdkMcpServer({ name: 'gate', tools: [sdk.tool('decide', 'decides', { tool_name: z.string(), input: z.any(), tool_use_id: z.string().optional() }, async a => {
    got = a
    return { content: [{ type: 'text', text: JSON.stringify({ behavior: 'allow', updatedInput: a.input }) }] }
  })] })
  const r = await ask('write', { mcpServers: { gate }, permissionPromptToolName: 'mcp__gate__decide' })
  succeeded(r, 'done')
  assert.ok(existsSync('out.txt'))
  assert.deepEqual([got.tool_name, got.tool_use_id], ['Write', 'w1'])
})
scenario('permission tool of a server denies', { steps: write, asked: ['closed'] }, async () => {
  const gate = sdk.createSdkMcpServer({ name: 'gate', tools: [sdk.tool('decide', 'decides', { tool_name: z.string(), input: z.any() }, async () => ({ content: [{ type: 'text', text: JSON.stringify({ behavior: 'deny', message: 'closed' }) }] }))] })
  const r = await ask('write', { mcpServers: { gate }, permissionPromptToolName: 'mcp__gate__decide' })
  succeeded(r, 'done')
  assert.equal(existsSync('out.txt'), false)
})
scenario('elicitation', { steps: [call('mcp__asker__book', {}), { text: 'done' }], asked: ['table for 4'] }, async () => {
  const server = sdk.createSdkMcpServer({ name: 'asker', tools: [sdk.tool('book', 'books', {}, async () => {
    const a = await server.instance.server.elicitInput({ mode: 'form', message: 'How many?', requestedSchema: { type: 'object', properties: { n: { type: 'integer', title: 'n' } }, required: ['n'] } })
    return { content: [{ type: 'text', text: `${a.action}: table for ${a.content?.n}` }] }
  })] })
  let seen
  const r = await ask('book', { ...free, mcpServers: { asker: server }, onElicitation: async q => { seen = q; return { action: 'accept', content: { n: 4 } } } })
  succeeded(r, 'done')
  assert.equal(seen.message, 'How many?')
  assert.equal(seen.serverName, 'asker')
})
