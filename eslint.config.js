import importX from 'eslint-plugin-import-x';
import { createTypeScriptImportResolver } from 'eslint-import-resolver-typescript';
import tseslint from 'typescript-eslint';

/** Who may import whom. Everything may import contracts; contracts import nothing of ours. */
const zones = [
  { target: './contracts', from: ['./edge', './backend', './infra', './test'] },
  { target: './edge', from: ['./backend', './test'] },
  { target: './backend', from: ['./edge', './test'] },
  { target: './infra/process', from: ['./edge', './backend', './infra/setup', './infra/models', './test'] },
  {
    target: './infra/ops',
    from: ['./edge', './backend', './infra/process', './infra/setup', './infra/models', './test'],
  },
  { target: './infra/models', from: ['./edge', './backend', './test'] },
  { target: './infra/setup', from: ['./edge', './backend', './test'] },
];

/** Plumbing is for entry files; the cores of edge and backend get what they need handed in. */
const entryFiles = [
  'edge/node.ts',
  'edge/node-server.ts',
  'backend/main.ts',
  'backend/process.ts',
  'backend/supervisor.ts',
];
const plumbing = {
  patterns: [{ group: ['**/infra/*', '**/infra/**'], message: 'only entry files import plumbing' }],
};

const onlyIn = (name, where) => ({ name, message: `only ${where} imports ${name}` });

export default tseslint.config(
  { ignores: ['dist/**', 'node_modules/**', '**/*.generated.ts', '.models/**', '.cache/**'] },
  {
    files: ['**/*.ts'],
    extends: [tseslint.configs.strictTypeChecked],
    plugins: { 'import-x': importX },
    languageOptions: { parserOptions: { projectService: true, tsconfigRootDir: import.meta.dirname } },
    settings: { 'import-x/resolver-next': [createTypeScriptImportResolver({ project: './tsconfig.json' })] },
    rules: {
      '@typescript-eslint/no-floating-promises': 'error',
      '@typescript-eslint/consistent-type-imports': 'error',
      '@typescript-eslint/restrict-template-expressions': ['error', { allowNumber: true }],
      '@typescript-eslint/no-confusing-void-expression': ['error', { ignoreArrowShorthand: true }],
      '@typescript-eslint/no-misused-promises': ['error', { checksVoidReturn: { inheritedMethods: false } }],
      '@typescript-eslint/require-await': 'off',
      // Interfaces here are bags of functions; nobody writes `this`.
      '@typescript-eslint/unbound-method': 'off',
      'import-x/no-cycle': 'error',
      'import-x/no-self-import': 'error',
      'import-x/no-restricted-paths': ['error', { zones }],
      'import-x/no-extraneous-dependencies': [
        'error',
        { devDependencies: ['test/**', 'infra/models/**', 'infra/setup/**'] },
      ],
      'max-lines': ['error', { max: 260, skipBlankLines: false }],
    },
  },
  {
    files: ['edge/**/*.ts', 'backend/**/*.ts'],
    ignores: entryFiles,
    rules: {
      'no-restricted-imports': [
        'error',
        {
          ...plumbing,
          paths: [onlyIn('onnxruntime-node', 'backend/model/session-worker.ts'), onlyIn('protobufjs', 'infra/models')],
        },
      ],
      'no-restricted-properties': [
        'error',
        { object: 'process', property: 'env', message: 'configuration is passed in' },
      ],
    },
  },
  { files: ['backend/model/session-worker.ts'], rules: { 'no-restricted-imports': 'off' } },
  {
    // The edge's core runs where there is no Node: of its modules only these are everywhere.
    files: ['edge/**/*.ts'],
    ignores: [...entryFiles, 'edge/node*.ts', 'edge/body/read-node-body.ts', 'edge/body/discard-rest.ts'],
    rules: {
      'no-restricted-imports': [
        'error',
        {
          patterns: [
            ...plumbing.patterns,
            { regex: '^node:(?!crypto$|buffer$)', message: 'not every runtime has it' },
            { group: ['pino', 'ioredis', '@hono/node-server*'], allowTypeImports: true, message: 'only entry files' },
          ],
        },
      ],
      'no-restricted-globals': ['error', 'process', 'Buffer', '__dirname', 'setImmediate'],
    },
  },
  {
    files: ['test/**/*.ts'],
    rules: {
      // node:test gives promises that nobody needs to await.
      '@typescript-eslint/no-floating-promises': [
        'error',
        {
          allowForKnownSafeCalls: [
            { from: 'package', name: ['test', 'it', 'describe', 'suite'], package: 'node:test' },
          ],
        },
      ],
      // Tests read foreign JSON and assert its fields one by one.
      '@typescript-eslint/no-unsafe-argument': 'off',
      '@typescript-eslint/no-unsafe-assignment': 'off',
      '@typescript-eslint/no-unsafe-call': 'off',
      '@typescript-eslint/no-unsafe-member-access': 'off',
      '@typescript-eslint/no-unsafe-return': 'off',
      'max-lines': 'off',
    },
  },
  { files: ['infra/**/*.mjs', '*.js'], extends: [tseslint.configs.disableTypeChecked] },
);
