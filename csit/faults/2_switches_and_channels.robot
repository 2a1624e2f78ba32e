*** Settings ***
Documentation       Faults of what switches are, and of what lies between them and the controller, under 1,000 packets a second between pods: none is lost where forwarding
...                 is not touched. Afterwards switches hold what follows from the data. COEUS_SEED=N repeats what was drawn. What is elsewhere: docs/faults.md.
Resource            ../resources/coeus.resource
Library             ../libraries/Faults.py
Library             ../libraries/Restarts.py
Library             ../libraries/Storm.py
Suite Setup         Start Two Nodes With Pods
Suite Teardown      Stop Lab

*** Test Cases ***
The Database Of A Switch Is Killed
    [Documentation]    It forgets what it holds in memory alone, the datapath id of its bridge for one, until vswitchd connects again: no flow is touched. What is lost
    ...    is lost by vswitchd, whose main thread, which forwards here, waits for its database.
    Remember Counters    1
    Start Probes    blue:p1    10.11.2.10    10000
    Sleep    1 s
    End Daemon    1    ovsdb
    Sleep    2 s
    Start Daemon Of    1    ovsdb
    ${sent}    ${lost}=    Probes Lost
    Log    ${lost} of ${sent} lost    console=True
    Should Be True    ${lost} < ${sent}
    Counters Should Have Grown    1
    A Port Comes    1    20
    Tables Should Be As From Scratch

A Port Is Flapped A Thousand Times
    [Documentation]    Others miss next to nothing: vswitchd takes ports up in the thread in which it forwards here, some milliseconds each.
    Start Probes    blue:p1    10.11.2.10    20000
    Flap Port    blue:p2    1000
    ${sent}    ${lost}=    Probes Lost
    Should Be True    ${lost} < ${sent} / 100    ${lost} of ${sent}
    Ping Should Pass    blue:p2    10.11.2.10    30
    Tables Should Be As From Scratch

Connections Are Reset
    Start Probes    blue:p1    10.11.2.10    20000
    ${before}=    Connections Of Switch    1
    FOR    ${port}    IN    6653    6640
        Firewall    -I    INPUT    -s    10.99.0.1    -p    tcp    --dport    ${port}    -j    REJECT    --reject-with    tcp-reset
        Change Of Pods
        Sleep    3 s
        Firewall    -D    INPUT    -s    10.99.0.1    -p    tcp    --dport    ${port}    -j    REJECT    --reject-with    tcp-reset
    END
    Nothing Was Lost
    A Port Comes    1    20
    Tables Should Be As From Scratch

Half Open Connections
    [Documentation]    Nothing comes through in either direction, and nobody is told: it is found out, and the other node is served meanwhile.
    Start Probes    blue:p1    10.11.2.10    50000
    Firewall    -I    INPUT    -s    10.99.0.1    -j    DROP
    Firewall    -I    OUTPUT    -d    10.99.0.1    -j    DROP
    And It Works    2    10
    Wait Until Keyword Succeeds    40 s    500 ms    Switch Should Be Lost    1
    Firewall    -D    INPUT    -s    10.99.0.1    -j    DROP
    Firewall    -D    OUTPUT    -d    10.99.0.1    -j    DROP
    And It Works    1    40
    Nothing Was Lost
    A Port Comes    1    20
    Tables Should Be As From Scratch

Three Hundred Milliseconds And A Twentieth Lost
    Start Probes    blue:p1    10.11.2.10    60000
    Spoil Wire    1    --delay    0.15    --loss    0.05
    And It Works    1    60
    And It Works    2    10
    Stop Controller    KILL
    Start Controller
    Open Session
    And It Works    1    60
    Nothing Was Lost
    A Port Comes    1    60
    Mend Wire    1
    Tables Should Be As From Scratch

A Switch That Reads Slowly
    [Documentation]    10 KiB a second each way; the other switch does not wait for it.
    Spoil Wire    1    --rate    10240
    Make Crowd    1    40    blue
    Start Probes    blue:p1    10.11.2.10    50000
    And It Works    2    10
    Mend Wire    1
    Wait Until Keyword Succeeds    60 s    500 ms    Programmed    1
    Nothing Was Lost
    A Port Comes    1    20
    Tables Should Be As From Scratch

A Node Gets Another Address
    [Documentation]    Its pods are told anew with it, as the watcher does; tunnels follow on both sides.
    Readdress Node    1    192.168.200.101
    ${body}=    Node Body    1    10.11.1.0/24
    ${uid}=    Pod Uid    node1
    PUT On Session    coeus    ${CONFIG}/k8s-node:k8s-nodes-info/k8s-nodes/${uid}    json=${body}    expected_status=200
    Create Pod    p1    blue    1    10.11.1.10    200
    Create Pod    p2    blue    1    10.11.1.11    200
    Ping Should Pass    blue:p1    10.11.2.10    30
    Ping Should Pass    blue:p3    10.11.1.11    30
    Tables Should Be As From Scratch

*** Keywords ***
Start Two Nodes With Pods
    Start Lab And Session    2
    Say Seed
    Announce Node    1    10.11.1.0/24
    Announce Node    2    10.11.2.0/24
    Create And Plug Pod    p1    blue    1    10.11.1.10    10.11.1.1
    Create And Plug Pod    p2    blue    1    10.11.1.11    10.11.1.1
    Create And Plug Pod    p3    blue    2    10.11.2.10    10.11.2.1
    All Pods Should Reach All    blue
    Plug Pod    new1    blue    1    10.11.1.50/24    10.11.1.1
    Plug Pod    new2    blue    2    10.11.2.50/24    10.11.2.1
    Wait For Switches

Nothing Was Lost
    ${sent}    ${lost}=    Probes Lost
    Should Be Equal As Integers    ${lost}    0

And It Works
    [Documentation]    A pod comes to the node, is reached within so many seconds, and goes. Its port is there all the time: vswitchd loses a packet now and then when it
    ...    takes up a port, with no fault at all.
    [Arguments]    ${node}    ${seconds}
    Create Pod    new${node}    blue    ${node}    10.11.${node}.50
    Ping Should Pass    blue:new${node}    10.11.2.10    ${seconds}
    Delete Pod    new${node}    blue

A Port Comes
    [Documentation]    And with it a pod, which is reached within so many seconds. Both go.
    [Arguments]    ${node}    ${seconds}
    Create And Plug Pod    port    blue    ${node}    10.11.${node}.51    10.11.${node}.1
    Ping Should Pass    blue:port    10.11.2.10    ${seconds}
    Delete Pod    port    blue
    Unplug Pod    port    blue

Change Of Pods
    Create Pod    other    blue    1    10.11.1.60
    Delete Pod    other    blue

Switch Should Be Lost
    [Arguments]    ${node}
    ${connected}=    Switch Leaf    ${node}    connected
    Should Not Be True    ${connected}

Programmed
    [Arguments]    ${node}
    ${flows}=    Flows Naming    ${node}    10.11.1.
    Should Not Be Empty    ${flows}
    ${connected}=    Switch Leaf    ${node}    connected
    Should Be True    ${connected}
