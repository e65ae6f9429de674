// Requests of the host beside the prompts.
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { ask, assert, input, scenario, sdk, succeeded } from './harness.mjs'

const free = { permissionMode: 'bypassPermissions', allowDangerouslySkipPermissions: true }
const call = (name, input = {}, id = 'm1') => ({ calls: [{ id, name, input }] })

// between asks something between two prompts, of which the second ends the session.
async function between(options, fn) {
  const p = input('hi')
  let n = 0, got
  const r = await ask(p.stream, options, async (m, q) => {
    if (m.type !== 'result') return
    if (n++) return p.end()
    got = await fn(q, r0 => q.request(r0).then(x => x.response), m)
    p.send('again')
  })
  return { ...r, got }
}
const two = [{ text: 'one' }, { text: 'two' }]
const failure = p => p.then(() => undefined, e => String(e))

scenario('files of the session', { steps: two, files: { 'a.txt': 'ä text', 'b.bin': '\u0000\u0001' } }, async () => {
  const r = await between({ disallowedTools: ['Read(./b.bin)'] }, async q => [await q.readFile('a.txt'), await q.readFile('a.txt', { maxBytes: 1 }), await q.readFile('a.txt', { encoding: 'base64' }),
    await q.readFile('none.txt'), await q.readFile('b.bin'), await q.readFile('/etc/passwd'), await q.readFile('.')])
  succeeded(r, 'two')
  const [all, cut, base64, ...none] = r.got
  assert.equal(all.contents, 'ä text')
  assert.ok(all.absPath.endsWith('/a.txt') && all.absPath[0] === '/')
  assert.equal(all.lossy, false)
  assert.deepEqual([cut.truncated, cut.lossy], [true, true])
  assert.equal(Buffer.from(base64.contents, 'base64').toString(), 'ä text')
  assert.deepEqual(none, [null, null, null, null])
})
scenario('rules, hooks and settings', { steps: two }, async () => {
  const r = await between({ allowedTools: ['Bash(git log:*)'], settings: JSON.stringify({ permissions: { deny: ['WebFetch'] }, effort: 'low' }), hooks: { PreToolUse: [{ matcher: 'Bash', hooks: [async () => ({})] }] } },
    async (q, send) => ({ rules: (await send({ subtype: 'list_permission_rules' })).state, hooks: await q.getHooksListing(), settings: await q.getSettings(), own: await failure(send({ subtype: 'dance' })) }))
  succeeded(r, 'two')
  const { rules, hooks, settings, own } = r.got
  assert.ok(rules.rules.some(x => x.behavior === 'allow' && x.rule === 'Bash(git log:*)' && x.source === 'cliArg' && x.editability === 'session'), JSON.stringify(rules))
  assert.ok(rules.rules.some(x => x.behavior === 'deny' && x.rule === 'WebFetch'))
  assert.equal(rules.originalCwd, process.cwd())
  assert.deepEqual(hooks.hooks.map(h => [h.event, h.matcher, h.source, h.type]), [['PreToolUse', 'Bash', 'sessionHook', 'callback']])
  assert.deepEqual(hooks.events.map(e => [e.name, e.hookCount]), [['PreToolUse', 1]])
  assert.ok(hooks.eventCatalog.some(e => e.name === 'Stop'))
  assert.deepEqual(settings.effective.permissions.deny, ['WebFetch'])
  assert.equal(settings.applied.effort, 'low')
  assert.ok(settings.applied.model)
  assert.ok(settings.sources.some(s => s.source === 'flagSettings'))
  assert.match(own, /dance/)
})
scenario('usage', { steps: [call('Write', { file_path: 'n.txt', content: 'one\ntwo\n' }, 'w1'), { text: 'one' }, { text: 'two' }] }, async () => {
  const r = await between(free, async (q, send) => [await q.usage_EXPERIMENTAL_MAY_CHANGE_DO_NOT_RELY_ON_THIS_API_YET(), await send({ subtype: 'get_session_cost' }), await send({ subtype: 'list_models' }), await send({ subtype: 'get_binary_version' })])
  succeeded(r, 'two')
  const [usage, cost, models, version] = r.got
  assert.ok(usage.session.total_cost_usd > 0 && usage.session.total_lines_added === 2)
  assert.equal(usage.rate_limits_available, false)
  assert.ok(Object.values(usage.session.model_usage)[0].outputTokens > 0)
  assert.match(cost.text, /Total cost: \$/)
  assert.equal(models.models[0].value, 'default')
  assert.match(version.version, /^\d+\.\d+/)
})
scenario('skills read again', { steps: two }, async () => {
  const r = await between({ settingSources: ['user', 'project'] }, async q => {
    const add = (dir, name) => {
      mkdirSync(`${dir}/skills/${name}`, { recursive: true })
      writeFileSync(`${dir}/skills/${name}/SKILL.md`, `---\nname: ${name}\ndescription: dances\n---\nDance.\n`)
    }
    add(`${process.env.HOME}/.claude`, 'dancing')
    add('.claude', 'untrusted')
    return [await q.reloadSkills(), await q.reloadPlugins(), await q.reloadOutputStyles()]
  })
  succeeded(r, 'two')
  const [skills, plugins, styles] = r.got
  assert.ok(!r.init.skills.includes('dancing'))
  assert.ok(skills.skills.some(s => s.name === 'dancing'), JSON.stringify(skills))
  assert.ok(!skills.skills.some(s => s.name === 'untrusted'))
  assert.ok(r.of('system', 'init')[1].slash_commands.includes('dancing'))
  assert.ok(plugins.commands.length && plugins.agents.length && Array.isArray(plugins.mcpServers) && plugins.error_count === 0)
  assert.deepEqual(styles.available_output_styles, ['default'])
})
scenario('side question', { steps: [{ text: 'one' }, { text: 'it is blue' }, { text: 'two' }], asked: ['Which colour is it?'] }, async () => {
  const r = await between({}, async q => q.askSideQuestion('Which colour is it?'))
  succeeded(r, 'two')
  assert.deepEqual(r.got, { response: 'it is blue', synthetic: false })
  const messages = JSON.stringify(r.messages)
  assert.ok(!messages.includes('it is blue'))
})
scenario('side question calls no tools', { steps: [{ text: 'one' }, call('Write', { file_path: 'n.txt', content: 'x' }), { text: 'two' }], requests: 3 }, async () => {
  const r = await between(free, async q => q.askSideQuestion('Which colour is it?'))
  succeeded(r, 'two')
  assert.equal(r.got, null)
  assert.throws(() => readFileSync('n.txt'))
})
scenario('title', { steps: [{ text: 'one' }, { text: '"Sheep in the garden"\n' }, { text: 'two' }], asked: ['counts sheep'] }, async () => {
  const r = await between({}, async q => q.generateSessionTitle('counts sheep in the garden', { persist: true }))
  succeeded(r, 'two')
  assert.equal(r.got, 'Sheep in the garden')
})
scenario('nothing to background', { steps: [call('Bash', { command: 'sleep 1' }, 'b1'), { text: 'one' }] }, async () => {
  const seen = []
  const r = await ask('run', free, async (m, q) => {
    if (m.type === 'assistant' && m.message.content[0].type === 'tool_use') {
      seen.push(await q.backgroundTasks('other'), await failure(q.backgroundTasks('b1')))
    }
  })
  succeeded(r, 'one')
  assert.equal(seen[0], false)
  assert.match(seen[1], /run_in_background/)
})
scenario('output of a command', { steps: [call('Bash', { command: 'echo moin; sleep 60', run_in_background: true }, 'b1'), { text: 'one' }, { text: 'two' }] }, async () => {
  let task
  const r = await between(free, async q => {
    for (;;) {
      const o = await q.getTaskOutput('bash_1')
      if (o.output) return o
      await new Promise(r => setTimeout(r, 20))
    }
  })
  succeeded(r, 'two')
  assert.deepEqual(r.got, { output: 'moin\n', total_bytes: 5, truncated: false })
})
scenario('settings stored', { steps: two }, async () => {
  const r = await between({}, async q => {
    await q.updateSettings('userSettings', { effortLevel: 'low' })
    await q.updateSettings('localSettings', { outputStyle: 'default' })
    await q.seedReadState('a.txt', 1)
    return [await failure(q.updateSettings('userSettings', { model: 'x' })), await failure(q.updateSettings('localSettings', { outputStyle: 'loud' }))]
  })
  succeeded(r, 'two')
  assert.equal(JSON.parse(readFileSync(`${process.env.OPENAGENT_HOME}/settings.json`, 'utf8')).effort, 'low')
  assert.ok(r.got.every(e => /update_settings/.test(e)), r.got.join())
})
scenario('message without a turn', { steps: two, asked: ['the sky is green'] }, async () => {
  const p = input('hi')
  let n = 0
  const r = await ask(p.stream, {}, m => {
    if (m.type !== 'result') return
    if (n++) return p.end()
    p.send({ type: 'user', message: { role: 'user', content: 'the sky is green' }, parent_tool_use_id: null, shouldQuery: false })
    p.send('again')
  })
  succeeded(r, 'two')
  assert.equal(r.of('result').length, 2)
})

// A server that is a program, of the SDK's own library for servers.
const program = `
let buffer = ''
const say = (id, result) => process.stdout.write(JSON.stringify({ jsonrpc: '2.0', id, result }) + '\\n')
process.stdin.on('data', data => {
  buffer += data
  for (let i; (i = buffer.indexOf('\\n')) >= 0; buffer = buffer.slice(i + 1)) {
    const m = JSON.parse(buffer.slice(0, i))
    if (m.method === 'initialize') say(m.id, { protocolVersion: m.params.protocolVersion, capabilities: { tools: {}, resources: {} }, serverInfo: { name: 'box', version: '1' } })
    if (m.method === 'tools/list') say(m.id, { tools: [{ name: 'echo', inputSchema: { type: 'object', properties: { text: { type: 'string' } } } }] })
    if (m.method === 'tools/call') say(m.id, { content: [{ type: 'text', text: 'echo ' + m.params.arguments.text }], isError: m.params.arguments.text === 'fail' })
    if (m.method === 'resources/read') say(m.id, { contents: [{ uri: m.params.uri, mimeType: 'text/html', text: '<b>box</b>' }] })
    if (m.method === 'resources/list') say(m.id, { resources: [] })
    if (m.method === 'resources/templates/list') say(m.id, { resourceTemplates: [] })
    if (m.method === 'ping') say(m.id, {})
  }
})`
const box = { box: { command: process.execPath, args: ['-e', program] } }

scenario('server called by the host', { steps: two }, async () => {
  const r = await between({ mcpServers: box, disallowedTools: ['WebFetch'] }, async (q, send) => [
    await send({ subtype: 'mcp_call', tool: 'mcp__box__echo', arguments: { text: 'hi' } }),
    await failure(send({ subtype: 'mcp_call', tool: 'mcp__box__echo', arguments: { text: 'fail' } })),
    await send({ subtype: 'mcp_call', tool: 'mcp__box__echo', arguments: { text: 'fail' }, soft_error_result: true }),
    await failure(send({ subtype: 'mcp_call', tool: 'mcp__none__echo' })),
    await failure(send({ subtype: 'mcp_call', tool: 'mcp__box__echo', arguments: { text: 'hi' }, check_permissions: true })),
    await q.readMcpResource('box', 'ui://box/view'), await failure(q.readMcpResource('box', 'file:///etc/passwd')),
  ])
  succeeded(r, 'two')
  const [done, failed, soft, none, refused, page, other] = r.got
  assert.deepEqual(done.content, [{ type: 'text', text: 'echo hi' }])
  assert.match(failed, /echo fail/)
  assert.equal(soft.isError, true)
  assert.match(none, /no MCP server/)
  assert.match(refused, /permission|asked/)
  assert.equal(page.contents[0].text, '<b>box</b>')
  assert.match(other, /ui:/)
})
scenario('server denied by rule', { steps: two }, async () => {
  const r = await between({ mcpServers: box, disallowedTools: ['mcp__box__echo'] }, async (q, send) => failure(send({ subtype: 'mcp_call', tool: 'mcp__box__echo', arguments: { text: 'hi' } })))
  succeeded(r, 'two')
  assert.ok(r.got)
})
scenario('server asked about', { steps: [{ text: 'one' }, call('mcp__box__echo', { text: 'moin' }), { text: 'two' }], not: ['echo moin'] }, async () => {
  const asked = []
  const r = await between({ ...free, mcpServers: box, canUseTool: async name => { asked.push(name); return { behavior: 'deny', message: 'no' } } }, async q => [await q.setMcpPermissionModeOverride('box', 'default'), await q.setMcpPermissionModeOverride('typo', 'default')])
  succeeded(r, 'two')
  assert.deepEqual(asked, ['mcp__box__echo'])
  assert.equal(r.got[0].warning, undefined)
  assert.match(r.got[1].warning, /typo/)
})
scenario('suggestions, summaries and local commands', { steps: [call('Glob', { pattern: '*' }, 'g1'), { text: 'one' }, { text: 'two' }, { text: 'Run the tests' }], requests: 4 }, async () => {
  const p = input('hi')
  let results = 0
  const r = await ask(p.stream, { promptSuggestions: true, env: { ...process.env, CLAUDE_CODE_EMIT_TOOL_USE_SUMMARIES: '1' } }, m => {
    if (m.type === 'prompt_suggestion') p.end()
    if (m.type === 'result' && results++ < 2) p.send(results === 1 ? '/cost' : 'again')
  })
  succeeded(r, 'two')
  assert.deepEqual(r.of('prompt_suggestion').map(m => m.suggestion), ['Run the tests'])
  assert.deepEqual(r.of('tool_use_summary').map(m => [m.summary, m.preceding_tool_use_ids]), [['Glob', ['g1']]])
  assert.match(r.of('system', 'local_command_output')[0].content, /for 1 prompts/)
})
