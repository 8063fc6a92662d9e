/**
 * The example's tools: three that need an approval, one of each authenticator class, and two that do not.
 * What a tool "does" is a line in the store's list of effects, which `list_effects` shows. A tool knows
 * nothing of challenges and signatures.
 */
import { AjvJsonSchemaValidator } from '@modelcontextprotocol/server/validators/ajv';

/**
 * @typedef {object} Tool
 * @property {string} name
 * @property {string} title
 * @property {string} description
 * @property {object} inputSchema
 * @property {object} [outputSchema]
 * @property {object} [annotations]
 * @property {{authenticatorClass?: 'cross-platform' | 'platform'}} [approval] present: the tool is gated
 * @property {(given: object) => string} [describe] displayText: all that is approved, in words
 * @property {(given: object) => object} run returns structured content
 * @property {(given: unknown) => string | undefined} faultIn what is wrong with the arguments by the schema
 */

/**
 * @param {import('./store.js').Store} store
 * @param {() => number} now milliseconds
 * @returns {Map<string, Tool>}
 */
export function exampleTools(store, now) {
  const done = (/** @type {object} */ effect) => {
    store.effects.append({ at: new Date(now()).toISOString(), ...effect });
    return { done: effect };
  };
  return byName([
    {
      name: 'delete_resource',
      title: 'Delete resource',
      description: 'Permanently delete the resource with the given id.',
      // Every field is required and there are no defaults: a default is never signed for (section 8.3.3).
      inputSchema: objectOf({ resourceId: { type: 'string', minLength: 1, maxLength: 200 } }),
      annotations: { destructiveHint: true },
      approval: { authenticatorClass: 'cross-platform' },
      describe: ({ resourceId }) => `Permanently delete resource ${quoted(resourceId)}`,
      run: ({ resourceId }) => done({ tool: 'delete_resource', resourceId }),
    },
    {
      name: 'place_trade',
      title: 'Place trade',
      description: 'Buy or sell a number of shares at the market price.',
      inputSchema: objectOf({
        side: { type: 'string', enum: ['buy', 'sell'] },
        symbol: { type: 'string', minLength: 1, maxLength: 20 },
        quantity: { type: 'number', exclusiveMinimum: 0 },
      }),
      approval: {},
      describe: ({ side, symbol, quantity }) => `${side === 'buy' ? 'Buy' : 'Sell'} ${quantity} of ${quoted(symbol)} at the market price`,
      run: ({ side, symbol, quantity }) => done({ tool: 'place_trade', side, symbol, quantity }),
    },
    {
      name: 'change_setting',
      title: 'Change setting',
      description: 'Give a setting a value, which can be any JSON; without one, remove the setting.',
      inputSchema: { ...objectOf({ setting: { type: 'string', minLength: 1, maxLength: 100 }, value: {} }), required: ['setting'] },
      approval: { authenticatorClass: 'platform' },
      describe: ({ setting, value }) => (value === undefined ? `Remove the setting ${quoted(setting)}` : `Set ${quoted(setting)} to ${quoted(value)}`),
      run: (given) => done({ tool: 'change_setting', ...given }),
    },
    {
      name: 'was_deleted',
      title: 'Was it deleted?',
      description: 'Say whether the resource with the given id has been deleted.',
      inputSchema: objectOf({ resourceId: { type: 'string' } }),
      annotations: { readOnlyHint: true },
      run: ({ resourceId }) => ({
        deleted: store.effects.all().some((one) => one.tool === 'delete_resource' && one.resourceId === resourceId),
      }),
    },
    {
      name: 'list_effects',
      title: 'List effects',
      description: 'List what the gated tools have done, oldest first.',
      inputSchema: objectOf({}),
      annotations: { readOnlyHint: true },
      run: () => ({ effects: store.effects.all() }),
    },
  ]);
}

function byName(tools) {
  const validator = new AjvJsonSchemaValidator();
  return new Map(
    tools.map((tool) => {
      const validate = validator.getValidator(tool.inputSchema);
      const faultIn = (given) => validate(given).errorMessage;
      return [tool.name, { ...tool, faultIn }];
    }),
  );
}

function objectOf(properties) {
  return { type: 'object', required: Object.keys(properties), additionalProperties: false, properties };
}

/**
 * A value from a caller in a sentence that a person signs: as JSON, so that it is whole and within quotes,
 * and with all that would hide or reorder other characters written out.
 */
function quoted(value) {
  return JSON.stringify(value).replace(/[\p{Cc}\p{Cf}\p{Zl}\p{Zp}\p{Cn}\p{Co}\p{Default_Ignorable_Code_Point}]/gu, (hidden) =>
    `\\u{${hidden.codePointAt(0).toString(16)}}`,
  );
}
