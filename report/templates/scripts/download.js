// Without a script, the link to a large table of results is to a gzip file; with one, to the CSV itself.

function startDownload() {
  const link = document.getElementById("csv");
  if (!link || !link.dataset.plain || !("DecompressionStream" in window)) return;
  link.addEventListener("click", async (event) => {
    if (link.href.startsWith("blob:")) return;
    event.preventDefault();
    const bytes = Uint8Array.from(atob(link.href.split(",")[1]), (letter) => letter.charCodeAt(0));
    const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("gzip"));
    const csv = new Blob([await new Response(stream).arrayBuffer()], { type: "text/csv;charset=utf-8" });
    link.href = URL.createObjectURL(csv);
    link.download = link.dataset.plain;
    link.click();
  });
}
