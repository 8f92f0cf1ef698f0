// Starts `hadal lsp` for every model that is opened, and runs `hadal check` on the current one in a terminal.
const vscode = require("vscode");
const { LanguageClient } = require("vscode-languageclient/node");

const LANGUAGES = ["murphi", "dve", "promela", "pddl", "prism", "tck", "xta"];
let client;

function command() {
  return vscode.workspace.getConfiguration("hadal").get("path") || "hadal";
}

function activate(context) {
  const server = { command: command(), args: ["lsp"] };
  const documentSelector = LANGUAGES.map((language) => ({ language, scheme: "file" }));
  client = new LanguageClient("hadal", "hadal", server, { documentSelector });
  context.subscriptions.push(
    vscode.commands.registerCommand("hadal.check", () => {
      const editor = vscode.window.activeTextEditor;
      if (!editor) return;
      const terminal = vscode.window.createTerminal({
        name: "hadal check",
        shellPath: command(),
        shellArgs: ["check", editor.document.fileName],
      });
      terminal.show();
    }),
  );
  return client.start();
}

function deactivate() {
  return client ? client.stop() : undefined;
}

module.exports = { activate, deactivate };
